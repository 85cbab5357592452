"""A tuning from trial to trial: kept, gone on with, and runs that fail."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from rtsim.errors import ConfigError, ModelError
from rtsim.tuning.bayesian import Bayesian
from rtsim.tuning.drive import Drive
from rtsim.tuning.kept import KeptTuning, read_kept, write_kept
from rtsim.tuning.offline import RunCost
from rtsim.tuning.preference import Preference
from rtsim.tuning.problem import Parameters, Setting
from rtsim.tuning.search import TuningSearch

PARAMETERS = Parameters(("stiffness", "neutral"), np.array([0.0, -5.0]), np.array([40.0, 15.0]))
RANGES = {"stiffness": [0.0, 40.0], "neutral": [-5.0, 15.0]}


def measure(settings: Sequence[Setting]) -> Iterator[RunCost]:
    """Costs of a bowl; where it is stiff and far from neutral, the run fails."""
    for setting in settings:
        a, b = setting["stiffness"] - 12.0, setting["neutral"] - 4.0
        failed = setting["stiffness"] > 30.0
        yield (
            RunCost(math.nan, "a fault of the device")
            if failed
            else RunCost(0.01 * a * a + 0.1 * b * b + 2.0)
        )


def new(method: str = "bayesian") -> tuple[TuningSearch, KeptTuning]:
    """Return a search and what is kept of it."""
    search = Bayesian(2, 3, together=2) if method == "bayesian" else Preference(2, 3)
    return search, KeptTuning("made_up", method, 3, RANGES, "a bowl", 2)


@pytest.mark.parametrize("method", ["bayesian", "preference"])
def test_an_interrupted_tuning_goes_on_as_if_it_had_not_been(method: str, tmp_path: Path) -> None:
    """Protects the file: cut anywhere, within a batch too, the rest is what it would have been."""
    path = tmp_path / "tuning.json"
    search, whole = new(method)
    Drive(search, PARAMETERS, measure, whole).run(14)
    for cut in (6, 10) if method == "preference" else (3, 9):
        _, kept = new(method)
        kept.trials = whole.trials[: cut // (2 if method == "preference" else 1)]
        write_kept(path, kept)
        again, said = read_kept(path), list[str]()
        search, _ = new(method)
        Drive(search, PARAMETERS, measure, again, lambda now: write_kept(path, now), said.append).run(14)
        assert again == whole
        assert read_kept(path) == whole
        assert len(said) == len(whole.trials) - len(kept.trials)


def test_a_run_that_fails_is_kept_and_avoided() -> None:
    """Protects a search from settings without a cost: they count as bad, and the best is another one."""
    search, kept = new()
    best = Drive(search, PARAMETERS, measure, kept).run(25)
    failed = [trial for trial in kept.trials if trial.costs == [None]]
    assert failed
    assert all(trial.why == "a fault of the device" for trial in failed)
    assert best["stiffness"] == pytest.approx(12.0, abs=3.0)
    assert best["neutral"] == pytest.approx(4.0, abs=1.5)


def test_a_first_setting_without_a_cost_is_an_error() -> None:
    """Protects from guesses where nothing is known."""
    search, kept = new()
    with pytest.raises(ModelError, match="nothing went"):
        Drive(search, PARAMETERS, lambda settings: [RunCost(math.nan, "nothing went")] * 9, kept).run(4)


def test_trials_of_another_search_are_refused(tmp_path: Path) -> None:
    """Protects a search from settings that it never asked for, and from files that hold no tuning."""
    search, kept = new()
    Drive(search, PARAMETERS, measure, kept).run(8)
    kept.trials[2].settings[0]["stiffness"] += 1.0
    search, _ = new()
    with pytest.raises(ConfigError, match="differ from those that this search proposes"):
        Drive(search, PARAMETERS, measure, kept).run(12)
    path = tmp_path / "tuning.json"
    path.write_text('{"config": 3}', encoding="utf-8")
    with pytest.raises(ConfigError, match="contains no trials of a tuning"):
        read_kept(path)
