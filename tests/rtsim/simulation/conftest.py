"""Simulators of the loose model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernels.compiler.jit import allow_compilation
from rtsim.config.paths import find_config
from rtsim.models.load import load_model
from rtsim.simulation.load import load_simulator
from rtsim.simulation.motion import moved_names
from rtsim.simulation.run import SimulatedRun, run
from rtsim.simulation.simulator import Simulator
from tests.rtsim.simulation.loose import MODEL

N_STEP, EVERY = 50, 4


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., Simulator]:
    """The simulator of the model, or of one in which a text is replaced by another."""

    def make(right: str = "", wrong: str = "", **options) -> Simulator:
        assert right in MODEL
        path = tmp_path / "loose.toml"
        path.write_text(MODEL.replace(right, wrong, 1) if right else MODEL, encoding="utf-8")
        return load_simulator(str(path), **options)

    return make


@pytest.fixture
def loose(build: Callable[..., Simulator]) -> tuple[Simulator, SimulatedRun]:
    """The model after fifty steps, every fourth of them kept."""
    simulator = build()
    return simulator, run(simulator, N_STEP, EVERY)


@pytest.fixture(scope="module")
def knee() -> Simulator:
    allow_compilation()  # another test may have forbidden it
    return load_simulator("knee")


@pytest.fixture
def simulator(knee: Simulator) -> Iterator[Simulator]:
    """The knee at its start, where a test finds it and leaves it."""
    allow_compilation()
    start = knee.q.copy(), knee.v.copy()
    yield knee
    knee.q[:], knee.v[:], knee.n_step = *start, 0


@pytest.fixture
def model(tmp_path):
    """The kick, whose hip takes a motion."""
    kick = find_config("kick", "models").read_text(encoding="utf-8")
    head, _, tail = kick.partition('of = "time"\n')
    path = tmp_path / "kick.toml"
    path.write_text(f'{head}of = "motion"\n{tail.partition(chr(10))[2]}', encoding="utf-8")
    assert moved_names(load_model(str(path))) == ("hip",)
    return str(path)
