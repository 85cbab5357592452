"""What is told of force plates before a run."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import RunConfig
from rtsim.files.forces.force_trial import ForceTrial, RawForces, force_trial
from rtsim.files.markers.trial import MarkerTrial
from rtsim.live.forces import checked_before, told_before
from rtsim.models.load import load_model
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.subject import load_subject, save_subject

WEIGHT = 600.0


@pytest.fixture(scope="module")
def standing() -> MarkerTrial:
    """The walker in one frame that lasts; it has a right leg, its mirror image stands beside it."""
    trial = walk(load_model("lower_limb"), load_subject(find_config("walker", "subjects")), 0.5)
    still = np.repeat(trial.positions[:1], len(trial.times), axis=0)
    feet = [k for k, name in enumerate(trial.names) if name in ("RHEE", "RMT1", "RMT5")]
    names = (*trial.names, *(f"L{trial.names[k][1:]}" for k in feet))
    other = still[:, feet] * [1.0, 1.0, -1.0]
    return trial._replace(names=names, positions=np.concatenate([still, other], axis=1))


@pytest.fixture(scope="module")
def plates(standing: MarkerTrial) -> ForceTrial:
    """A plate under each foot, half of the weight on each, at the heel."""
    n = len(standing.times)
    force = np.tile([0.0, 0.5 * WEIGHT, 0.0], (n, 2, 1))
    heels = [standing.names.index("RHEE"), standing.names.index("LHEE")]
    place = standing.positions[:, heels] * [1.0, 0.0, 1.0]
    raw = RawForces(
        ("first", "second"), standing.times, standing.rate, np.full((2, 4, 3), np.nan), np.zeros(2), force,
        np.cross(place, force), "made", (),
    )  # fmt: skip
    return force_trial(raw)


def weight_told(run: RunConfig, trial: MarkerTrial, plates: ForceTrial) -> list[str]:
    return [said for said in told_before(run, trial, plates) if "weigh" in said]


def test_the_standing_check_knows_the_mass_from_wherever_it_is(
    standing: MarkerTrial, plates: ForceTrial, tmp_path: Path
) -> None:
    """Protects the check of the weight without --mass: the subject's file or the recording tells it."""
    run = RunConfig(name="test", lab="walker")
    assert weight_told(run, standing, plates) == []
    assert "70 kg" in weight_told(msgspec.structs.replace(run, mass_kg=70.0), standing, plates)[0]
    path = tmp_path / "heavy.toml"
    subject = load_subject(find_config("walker", "subjects"))
    save_subject(path, msgspec.structs.replace(subject, mass_kg=80.0))
    of_subject = msgspec.structs.replace(run, subject=str(path))
    assert "80 kg" in weight_told(of_subject, standing, plates)[0]
    told = standing._replace(subject={"Bodymass": 75.0})
    assert "75 kg" in weight_told(run, told, plates)[0]
    assert weight_told(msgspec.structs.replace(run, mass_kg=WEIGHT / 9.81), told, plates) == []


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [(0, None, ""), (5, None, "5 frames outside"), (0, -7, "7 frames outside"), (0, -1, "1 frame outside")],
)
def test_forces_that_do_not_cover_the_markers_are_told(
    standing: MarkerTrial, plates: ForceTrial, first: int, last: int | None, words: str
) -> None:
    """Protects from forces of another recording, or cut: both times and the number of frames are named."""
    rows = slice(first, last)
    cut = plates._replace(
        **{
            name: getattr(plates, name)[rows]
            for name in ("times", "force", "moment", "centre", "free_moment", "loaded")
        }
    )
    said = [s for s in told_before(RunConfig(name="test", lab="walker"), standing, cut) if "outside" in s]
    assert len(said) == bool(words)
    assert all(words in s and f"from {cut.times[0]:g} to {cut.times[-1]:g} s" in s for s in said)


@pytest.mark.parametrize(
    ("turned", "words"),
    [([0, 2, 1], "Z looks like the vertical"), ([0, 1, 2], "")],
    ids=["along Z", "as it is"],
)
def test_plates_whose_vertical_is_another_axis_are_of_no_use(
    standing: MarkerTrial, plates: ForceTrial, turned: list[int], words: str
) -> None:
    """Protects the exit code: forces along another axis than the vertical make nothing of plates usable."""
    said, wrong = checked_before(
        RunConfig(name="test", lab="walker"), standing, plates._replace(force=plates.force[..., turned])
    )
    assert (wrong in said) == bool(words)
    assert words in wrong
