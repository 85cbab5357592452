"""`rtsim warmup`: compiles the kernels ahead."""

from __future__ import annotations

import json
import time

import click


@click.command("warmup")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print as JSON how long compiling took, in total and for each group.",
)
def command(as_json: bool) -> None:
    """Compile all kernels into the cache, so that every later start takes seconds."""
    from kernels.compiler.cache import cache_fault, cache_mb, cache_root, prune_cache
    from rtsim.cli.terminal.compiling import compile_first
    from rtsim.cli.terminal.console import LastingConsole
    from rtsim.errors import ConfigError
    from rtsim.live.compiled.group_table import GROUPS

    if cache_fault():
        raise ConfigError(cache_fault(), where="kernel cache")
    console = LastingConsole(stderr=True)
    start = time.monotonic()
    costs = compile_first(console, GROUPS, anew=True)
    took = time.monotonic() - start
    n_removed = prune_cache()
    if as_json:
        each = {name: cost._asdict() for name, cost in costs.items()}
        click.echo(json.dumps({"seconds": took, "cache_MB": cache_mb(), "groups": each}, indent=1))
        return
    groups = ", ".join(f"{GROUPS[name].what} {cost.seconds:.1f} s" for name, cost in costs.items())
    click.echo(f"kernels ready in {took:.1f} s ({groups}), kept in {cache_root()}", err=True)
    if n_removed:
        click.echo(f"removed the compiled code of {n_removed} older versions", err=True)
