"""The group of `rtsim bench`, which its benches join."""

from __future__ import annotations

import click


@click.group("bench")
def command() -> None:
    """Measure on this machine; --json for programs. Timed comparisons live here, never in the tests.

    Each prints reference_us as well, the time of one fixed kernel in the same run: figures of different
    machines are compared in parts of it.
    """
    from kernels.compiler.cache import cache_fault

    if cache_fault():
        click.echo(f"note: {cache_fault()}", err=True)


AS_JSON = click.option("--json", "as_json", is_flag=True, help="Figures as JSON.")
QUICK = click.option(
    "--quick", is_flag=True, help="A part of it, in a minute or less once kernels are compiled."
)
