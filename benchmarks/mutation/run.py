"""The benchmark: mutants of rooms, drawn by a seed, each tested with the tests that belong to it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from benchmarks.mutation.mutants import Mutant, find_mutants
from benchmarks.mutation.rooms import ROOMS, MutatedRoom, files_of_tests, modules_of
from benchmarks.mutation.summary import MutantVerdict, MutationOutcome
from benchmarks.mutation.survivors import KnownSurvivors
from benchmarks.mutation.tree import MutatedTree
from rtsim.bench.figures import say
from rtsim.bench.progress import BenchProgress
from rtsim.errors import ConfigError
from rtsim.live.processes.signals import noting_requests

ROOT = Path(__file__).resolve().parents[2]
LEAST_CPU_S, CPU_TIMES, WALL_TIMES, BEYOND_CPU_S = 30.0, 4.0, 12.0, 900.0
"""A run of tests is ended when it has used this many times the processor time that it takes unchanged, and by
the clock, which other programs hold up, after so many times that limit."""


def run(rooms: Sequence[str], count: int, seed: int, nearby: bool = False) -> MutationOutcome:
    """Draw `count` mutants of each room, and run tests until one fails; nearby : whether only tests of the
    room are run.

    ConfigError for a room that there is not, and where tests fail before anything is changed.
    """
    for name in rooms:
        if name not in ROOMS:
            raise ConfigError(f"there is no package {name!r}", where="--room", allowed=", ".join(ROOMS))
    known = KnownSurvivors.read()
    outcome = MutationOutcome(seed)
    requests: list[int] = []
    with noting_requests(requests.append), MutatedTree(ROOT) as tree:
        for name in rooms:
            room = ROOMS[name]
            drawn = draw(tree.root, room, count, seed)
            unchanged_s = unchanged_cpu_s(tree, name, room)
            with BenchProgress(f"mutation: {name}", len(drawn)) as progress:
                for mutant in drawn:
                    if requests:
                        break
                    progress.begin(str(mutant))
                    verdict = judge(tree, room, unchanged_s, mutant, nearby)
                    if not requests:  # else Ctrl-C ended the tests, not the mutant
                        outcome.add(name, mutant, verdict, known.reason(mutant, source_of(tree, mutant)))
                        say(f"{verdict.value}: {mutant}")
            if requests:
                break
    outcome.interrupted = bool(requests)
    return outcome


def source_of(tree: MutatedTree, mutant: Mutant) -> str:
    """Return the module's text from the copy, as the checkout may change meanwhile."""
    return (tree.root / mutant.module).read_text(encoding="utf-8")


def draw(root: Path, room: MutatedRoom, count: int, seed: int) -> list[Mutant]:
    """Draw so many of all mutants of a room, each as likely as any other, in the order of the draw."""
    modules = [(name, (root / name).read_text(encoding="utf-8")) for name in modules_of(root, room)]
    found = [mutant for name, source in modules for mutant in find_mutants(name, source)]
    return random.Random(seed).sample(found, min(count, len(found)))


def unchanged_cpu_s(tree: MutatedTree, name: str, room: MutatedRoom) -> float:
    """Processor time of the room's tests on the unchanged tree [s]; ConfigError where they fail."""
    tests, _ = files_of_tests(tree.root, room, modules_of(tree.root, room)[0])
    found = tree.run(tests, room.compiler, 3600.0, 3600.0)
    if not found.passed:
        lines = found.told.strip().splitlines() or ["pytest wrote nothing"]
        cause = next((line for line in lines if line.startswith(("ERROR", "FAILED"))), lines[-1])
        raise ConfigError(
            f"tests of {name} fail before anything is changed: {cause}",
            where="rtsim bench mutation", remedy="mend them first",
        )  # fmt: skip
    return found.cpu_s


def judge(
    tree: MutatedTree, room: MutatedRoom, unchanged_s: float, mutant: Mutant, nearby: bool
) -> MutantVerdict:
    """Return whether a test detects the mutant: first those of the room, then, unless `nearby`, the
    others.
    """
    of_room, beyond = files_of_tests(tree.root, room, mutant.module)
    with tree.changed(mutant.module, mutant.applied(source_of(tree, mutant))):
        for tests, limit_s in (
            (of_room, max(LEAST_CPU_S, CPU_TIMES * unchanged_s)),
            ([] if nearby else beyond, BEYOND_CPU_S),
        ):
            found = tree.run(tests, room.compiler, limit_s, WALL_TIMES * limit_s) if tests else None
            if found is not None and found.timed_out:
                return MutantVerdict.TIMED_OUT
            if found is not None and not found.passed:
                return MutantVerdict.KILLED
    return MutantVerdict.SURVIVED
