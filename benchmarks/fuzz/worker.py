"""The process that feeds one target.

`python -m benchmarks.fuzz.worker MODULE TARGET ROOT SCRATCH SECONDS SEED ENGINE`

With the engine `coverage` the project's modules are instrumented by atheris when they are imported, and its
libFuzzer chooses which inputs are mutated further, by the branches that they reached.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from random import Random

INSTRUMENTED = [
    "streams",
    "rtsim.files",
    "rtsim.config",
    "rtsim.models",
    "rtsim.studies",
    "rtsim.subjects",
    "mcap",
]
OWN_PART = 0.75
"""Part of the inputs that are mutated by their form; the others are mutated by libFuzzer."""


def has_coverage() -> bool:
    """Whether atheris is installed."""
    return find_spec("atheris") is not None


@contextmanager
def instrumented(guided: bool) -> Iterator[None]:
    """Instrument modules that are imported within the `with` block to report their branches."""
    if not guided:
        yield
        return
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED, enable_loader_override=False):
        yield


def run(module: str, name: str, root: Path, scratch: Path, seconds: float, seed: int, guided: bool) -> None:
    """Feed a target; this does not return if libFuzzer is in control."""
    with instrumented(guided):
        from benchmarks.fuzz.corpus import FuzzFolder
        from benchmarks.fuzz.loop import FuzzLoop, limit_memory
        from benchmarks.fuzz.targets import targets_of

        target = targets_of(module)[name]
        folder = FuzzFolder(root, target)
        loop = FuzzLoop(target, folder, scratch, seconds, seed)
        loop.warm_up()
    limit_memory()
    if not guided:
        loop.run()
        return
    seeds = scratch / "seeds"
    seeds.mkdir()
    for k, data in enumerate(loop.seeds):
        (seeds / str(k)).write_bytes(data)

    def feed(data: bytes) -> None:
        loop.feed(data)
        if loop.is_over:
            loop.note()
            sys.stderr.flush()
            os._exit(0)

    def mutate(data: bytes, longest: int, drawn: int) -> bytes:
        random = Random(drawn)
        if random.random() < OWN_PART:
            return loop.mutated(data, random)[:longest]
        return atheris.Mutate(data, longest)

    import atheris

    options = [
        f"-seed={seed or 1}",
        f"-max_len={target.longest}",
        "-timeout=1000000",
        "-rss_limit_mb=0",
        "-close_fd_mask=1",
        f"-artifact_prefix={scratch}/",
    ]
    atheris.Setup([sys.argv[0], *options, str(folder.inputs), str(seeds)], feed, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    module, name, root, scratch, seconds, seed, engine = sys.argv[1:8]
    run(module, name, Path(root), Path(scratch), float(seconds), int(seed), engine == "coverage")
