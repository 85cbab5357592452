"""`rtsim warmup`: compile now."""

from __future__ import annotations

import time

import click


@click.command("warmup")
def command() -> None:
    """Compile all kernels into the cache, so that every later start takes seconds."""
    from rich.console import Console

    from rtsim.config.run_schema import Run

    console = Console(stderr=True)
    start = time.monotonic()
    with console.status("compiling the kernels (two minutes the first time)"):
        from kernels._jit import cache_folder, prune_cache
        from rtsim.live.serve import prepare
        from rtsim.methods.moment_arms import MomentArms
        from rtsim.models.load import load_mechanism
        from rtsim.simulation.load import load_simulator
        from rtsim.simulation.run import warm_up

        warm_up(load_simulator("stick_slip"))
        MomentArms(load_mechanism("pin")).assembled()
        prepare(Run(name="warmup"))  # last: it forbids further compilation
        n_removed = prune_cache()
    console.print(f"kernels ready in {time.monotonic() - start:.1f} s, cached in {cache_folder()}")
    if n_removed:
        console.print(f"{n_removed} caches of older kernels removed")
