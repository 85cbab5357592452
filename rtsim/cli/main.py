"""The command line: each command has its own module, which is imported only when it is called."""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import os
import sys
import warnings
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click

from rtsim.cli.terminal.states import end_with_parent
from rtsim.errors import RtsimError
from rtsim.live.processes.children import CHILD
from rtsim.live.processes.signals import CLOSED_PIPE, answer_requests, exit_code

COMMANDS = {
    "live": "Estimate joint angles and loads live from a simulated gait, a file or a stream, and show a "
    "table.",
    "estimate": "Estimate from a marker stream and publish the results, without a table (`live` starts "
    "this command).",
    "analyse": "Solve a recording offline with the same stages as a live run; write files and figures.",
    "report": "Report a person's gait: angles and moments over the cycle, steps, scores, data quality.",
    "paper": "Recompute figures and tables of a published paper, and compare the numbers.",
    "norms": "Make gait norms from your own trials, or read norms from .gcd and .csv files.",
    "connect": "Relay a capture system (Qualisys, ...) as live streams; list the servers that answer.",
    "replay": "Play a recording or a simulated gait as a live stream, or compute a recorded run again "
    "(--exact).",
    "diff": "Show where two recordings or two tables of results differ, and by how much.",
    "record": "Record a stream to an MCAP file that survives a crash.",
    "recover": "Recover a recording that was cut or damaged, and give it an index.",
    "export": "Write a recording as .trc, .mot, .sto or .csv.",
    "monitor": "Open the monitor window on a result stream.",
    "serve": "Serve a page for tablets and browsers on a result stream, read only.",
    "bridge": "Pass results to Lab Streaming Layer and other programs, and receive electromyograms.",
    "calibrate": "Build a subject model from a trial, or a mandible from a scan and a trial.",
    "lab": "Propose a marker map from a static trial, for marker names that no map of rtsim has.",
    "scale": "Scale a model to a person by a static trial, and place its markers.",
    "fit": "Fit parameters of a model to measurements of a person.",
    "moment-arms": "Compute lengths and moment arms of a model's muscles, at one pose or along a sweep.",
    "simulate": "Simulate a model forward in time with its contacts, ligaments, springs and loads.",
    "study": "Repeat an analysis, a simulation or a fit over many values of its keys, and collect the "
    "results in one table.",
    "hil": "Let a simulated limb and a device exchange motion and torque, with hardware in the loop.",
    "tune": "Change parameters of a hardware-in-the-loop run while it runs; undo changes, keep snapshots.",
    "device": "Simulate an orthosis as a device for hardware-in-the-loop runs, in its own process.",
    "show": "List the configs that come with rtsim; print one, or copy it for changes.",
    "check": "Check configs: models, marker maps, runs, subjects.",
    "command": "Send a command to a running estimator (set_method, tare, mark, status, stop, ...).",
    "warmup": "Compile the kernels now, so that the next start is quick.",
    "doctor": "Check the installation or a stream, and report what is wrong in plain words.",
    "keys": "Generate CURVE keys, which encrypt streams to other machines.",
    "bench": "Run benchmarks: mbo, dynamics, moment-arms, rosenbrock, friction, knee, paced, latency, "
    "hostile, ...",
}


class LazyGroup(click.Group):
    """A command group whose commands are the modules rtsim.cli.commands.<name>, imported when called."""

    # Closed pipes are not left to click, for which they are ordinary failures.

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        try:
            return super().make_context(info_name, args, parent, **extra)
        except BrokenPipeError:
            raise SystemExit(leave_pipe()) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise SystemExit(leave_pipe()) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        return importlib.import_module(f"rtsim.cli.commands.{name.replace('-', '_')}").command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # without importing every command for its help text
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]):
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"there is no command {name!r}; there are {', '.join(COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)


def installed_version() -> str:
    """Return the version of the installed package."""
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
    """Run the command line and exit. An expected error leads to one message and exit code 1; if a signal such
    as Ctrl-C ends the command, the exit code is that of the signal.
    """
    answer_requests()
    open_closed()
    is_child = bool(os.environ.pop(CHILD, ""))
    if is_child:
        end_with_parent()
    tell_former_names(is_child)
    code = outcome(args)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = leave_pipe()
    sys.exit(code)


def tell_former_names(is_child: bool) -> None:
    """Let Python's warnings about outdated names in configs appear as plain messages.

    is_child : whether another process of rtsim started this one; then they are not printed here
    """
    from rtsim.config.former_names import FormerName

    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **options: Any) -> None:
        if category is not FormerName:
            usual(message, category, *place, **options)
        elif not is_child:
            say_last(str(message), 0)

    warnings.showwarning = show


def open_closed() -> None:
    """Redirect outputs that the caller closed, as with `>&-`, to nowhere; characters that the encoding of an
    output lacks are written as backslash escapes.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - to the end
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


SHORT_OF_MEMORY = (
    "there is not enough memory for this command; end other programs, or raise the memory limit (ulimit -v)"
)

THREADS = "NUMBA_NUM_THREADS"
"""Environment variable with the number of threads of Numba, whose import fails if it is below 1."""

SHORT_OF_FILES = (
    "this command may not open as many files and connections as it needs; raise the limit (ulimit -n 1024)"
)


def number_of_threads() -> int:
    """Return the number of threads that the environment allows the compiled kernels; 1 if it states none, or
    no number, of which Numba itself gives a warning.
    """
    try:
        return int(os.environ.get(THREADS, "1"))
    except ValueError:
        return 1


def outcome(args: list[str] | None) -> int:
    """Run a command; return its exit code once everything was printed."""
    if number_of_threads() < 1:
        return say_last(
            f"the environment variable {THREADS} is {os.environ[THREADS]}; allowed: 1 or more; change or "
            "remove it",
            1,
        )
    try:
        from rtsim.cli.terminal.lines import line
        from streams.errors import StreamError
    except KeyboardInterrupt:
        return say_last("interrupted", exit_code() or 130)
    try:
        return int(cli.main(args=args, prog_name="rtsim", standalone_mode=False) or 0)
    except (click.Abort, KeyboardInterrupt):
        return say_last("interrupted", exit_code() or 130)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (RtsimError, StreamError) as error:
        return say_last(line(str(error)), 1)
    except BrokenPipeError:
        return leave_pipe()
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            return say_last(SHORT_OF_FILES, 1)
        # of standard output, and of what is open already, the system tells no name
        full = "an output of this command: " if error.errno == errno.ENOSPC else ""
        where = f"{error.filename}: " if error.filename else full
        return say_last(line(f"{where}{error.strerror or error}"), 1)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except Exception as error:
        code = exit_code()
        if code is None and is_short_of_memory(error):
            return say_last(SHORT_OF_MEMORY, 1)
        if code is None and getattr(error, "errno", None) in (errno.EMFILE, errno.ENFILE):  # of ZeroMQ
            return say_last(SHORT_OF_FILES, 1)
        if code is None:
            raise
        # as where the interruption came while a kernel was being compiled, which no longer exists then
        return say_last(f"interrupted ({type(error).__name__}: {error})", code)


def is_short_of_memory(error: Exception) -> bool:
    """Return whether an error means that the system has refused memory: a MemoryError, or the RuntimeError
    that Python raises if it gets no memory for the stack of a new thread.
    """
    return isinstance(error, MemoryError) or "can't start new thread" in str(error)


def say_last(text: str, code: int) -> int:
    """Print the last message of a command, such as an error; return the exit code."""
    with contextlib.suppress(OSError):  # nobody reads any more
        print(f"rtsim: {text}", file=sys.stderr, flush=True)
    return code


def leave_pipe() -> int:
    """Stop printing, because the reader of the output, such as `head`, has ended; return the exit code."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(nowhere, stream.fileno())
    return CLOSED_PIPE


if __name__ == "__main__":
    main()
