"""The command group `rtsim bench`, to which the benchmarks belong."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

import rtsim
from rtsim.errors import ConfigError


@click.group("bench")
def command() -> None:
    """Measure speed and accuracy on this machine; --json for programs.

    Each benchmark also prints reference_us, the time of one fixed kernel in the same run, which makes
    results of different machines comparable.
    """
    from kernels.compiler.cache import cache_fault

    if cache_fault():
        click.echo(f"note: {cache_fault()}", err=True)


AS_JSON = click.option("--json", "as_json", is_flag=True, help="Figures as JSON.")
QUICK = click.option(
    "--quick",
    is_flag=True,
    help="Run only part of the benchmark: a minute or less once the kernels are compiled.",
)


def need_checkout() -> None:
    """Raise ConfigError if the folder `benchmarks` is not beside the package, as in an installed wheel."""
    root = Path(rtsim.__file__).resolve().parents[1]
    found = find_spec("benchmarks")
    if found is None or found.origin is None or Path(found.origin).resolve().parents[1] != root:
        raise ConfigError(
            "this benchmark is not included in an installed rtsim", where="rtsim bench",
            remedy="clone the repository of the project, and install rtsim from it with pip install -e .",
        )  # fmt: skip
