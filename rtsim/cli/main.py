"""The command line: each command in a file of its own, imported only when it is called."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from importlib.metadata import PackageNotFoundError, version

import click

from rtsim.cli.states import end_with_parent
from rtsim.errors import RtsimError
from rtsim.live.children import CHILD

COMMANDS = {
    "live": "Estimate joints live from a walker, a file or a stream, with a table in the terminal.",
    "estimate": "Serve a marker stream without a table (what `live` starts behind the scenes).",
    "replay": "Play a recording, or the synthetic walker, as a live marker stream.",
    "record": "Record a stream to an MCAP file that survives a crash.",
    "export": "Write a recording as .trc, .mot, .sto or .csv.",
    "monitor": "Open the monitor window on a result stream.",
    "calibrate": "Build a subject model from a static trial, or from the trial itself.",
    "moment-arms": "Lengths and moment arms of a model's muscles, at one pose or along a sweep.",
    "simulate": "Move a model forward in time under its contacts, ligaments, springs and loads.",
    "check": "Check configs: models, labs, runs, subjects.",
    "command": "Send a command to a running estimator (set_method, set_downweighting, status, stop).",
    "warmup": "Compile the kernels now, so that the next start is quick.",
    "doctor": "Say in plain words what is wrong with the installation or with a stream.",
    "keys": "Make CURVE keys for streams that leave this machine.",
    "bench": "Measure: mbo, dynamics, moment-arms, rosenbrock, friction, knee, paced, latency, startup, ...",
}


class LazyGroup(click.Group):
    """A group whose commands live in rtsim.cli.<name>."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        return importlib.import_module(f"rtsim.cli.{name.replace('-', '_')}").command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # without importing every command for its help text
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]):
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            raise click.UsageError(f"there is no command {name!r}; there are {', '.join(COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)


def installed_version() -> str:
    """Version of the installed package."""
    try:
        return version("rtsim")
    except PackageNotFoundError:
        return "unknown (not installed)"


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(installed_version(), prog_name="rtsim")
def cli() -> None:
    """Live joint estimation from motion capture."""


def main(args: list[str] | None = None) -> None:
    """Entry point: errors made on purpose become one sentence and exit code 1."""
    from rtsim.cli.lines import line
    from streams.errors import StreamError

    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(143)
    )  # leave by the usual way: close files, end children
    if os.environ.pop(CHILD, ""):
        end_with_parent()
    try:
        cli.main(args=args, prog_name="rtsim", standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort:
        print("rtsim: interrupted", file=sys.stderr)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (RtsimError, StreamError) as error:
        print(f"rtsim: {line(str(error))}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:  # whoever read the output, as `head`, has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"rtsim: {line(f'{where}{error.strerror or error}')}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
