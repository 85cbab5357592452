"""Starts `rtsim` commands by forking a process that has read the modules already, so that hundreds of starts
take seconds, not minutes.

It reads lines of JSON from standard input: arguments, and files for standard output and error; for each it
prints the process id. Everything that a command does is done by the command itself, in a process of its own.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys

MODULES = (
    "rtsim.cli.main", "rtsim.cli.commands.record", "rtsim.cli.commands.replay", "rtsim.cli.commands.estimate",
    "rtsim.cli.commands.hil", "rtsim.cli.commands.device", "rtsim.cli.commands.monitor",
    "rtsim.live.processes.serve", "rtsim.live.hardware.device_process", "rtsim.live.hardware.device_loop",
    "rtsim.models.model", "streams.recording.recorder", "streams.recording.player", "numba", "scipy.optimize",
)  # fmt: skip


def main() -> None:
    """Fork a command for each line, until standard input ends."""
    for name in MODULES:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them: they are gone once they end
    print("ready", flush=True)
    for line in iter(sys.stdin.readline, ""):
        asked = json.loads(line)
        pid = os.fork()
        if not pid:
            run(asked["arguments"], asked["out"], asked["error"])
        print(pid, flush=True)


def run(arguments: list[str], out: str, error: str) -> None:
    """Execute the command in the forked process; this does not return."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, path in enumerate((os.devnull, out, error)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), number)
    sys.stdin = os.fdopen(0)
    sys.argv = ["rtsim", *arguments]
    from rtsim.cli.main import main as command

    code = 1
    try:
        command()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
