"""Plates under feet whose labels are exchanged: the foot that the kinematics found bears the load."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.config.runs.run_schema import RunConfig
from rtsim.live.forces import forces_of
from rtsim.live.inputs.recorded import KeptResults, RecordingInput
from rtsim.live.loop import Loop
from rtsim.live.processes.serve import prepare
from rtsim.live.recorded_run import trial_of
from rtsim.live.subjects.persons import with_person
from rtsim.methods.plates.force_feed import ForceFeed
from tests.rtsim.live.test_with_forces import analysed
from tests.rtsim.stages.both_legs import LEGS

Array = NDArray[np.float64]
STANCE = slice(45, 55)
"""Frames in which the right foot bears its plate."""


def exchanged(positions: Array, right: list[int], left: list[int], frames: slice) -> Array:
    """The same positions, with the labels of these markers of both feet exchanged in some frames."""
    found = positions.copy()
    found[frames, right], found[frames, left] = positions[frames, left], positions[frames, right]
    return found


def test_labels_that_are_left_out_give_no_foot_the_load_of_the_other(two, whole) -> None:
    """Protects a leg from the load of the other one, where labels of both feet are exchanged and left out."""
    model, person, trial, forces = two
    right = [trial.names.index(name) for name in person.segments["foot_r"].markers_mm]
    left = [trial.names.index("L" + trial.names[k][1:]) for k in right]
    positions = exchanged(trial.positions, right, left, STANCE)
    seen = analysed(model, person, trial._replace(positions=positions), forces, LEGS)
    assert seen.counters["labels_exchanged"] >= 10
    assert whole.fields["foot_loads"][STANCE, 0].min() > 100.0
    loads, own = seen.fields["foot_loads"], whole.fields["foot_loads"]
    assert (np.isnan(loads) | (np.abs(loads - own) < 1e-9)).all()


@pytest.mark.parametrize("k", range(3))
def test_a_marker_astray_takes_no_load_from_its_foot(two, whole, k: int) -> None:
    """Protects the load of a foot with one marker astray by 60 mm for a while: the kinematics leaves it out,
    but it still shows well enough where the foot is."""
    model, person, trial, forces = two
    astray = trial.names.index(list(person.segments["foot_r"].markers_mm)[k])
    positions = trial.positions.copy()
    positions[STANCE, astray, 2] += 0.06
    seen = analysed(model, person, trial._replace(positions=positions), forces, LEGS)
    assert seen.fields["marker_weights"][STANCE, astray].min() == 0.0
    np.testing.assert_allclose(seen.fields["foot_loads"], whole.fields["foot_loads"], atol=1e-9)


@pytest.mark.parametrize("pairs", [1, 4])
def test_labels_that_are_put_right_leave_the_loads_of_feet_as_they_are(shared, pairs: int) -> None:
    """Protects a recorded walk with exchanged labels of heels, and of all of both feet: under status ok each
    foot bears what it bears without."""
    data = shared / "data" / "gait_mcgill"
    if not data.is_dir():
        pytest.skip("the recording is not there")
    run, _ = with_person(
        RunConfig(
            name="test", method="minimised", stages=("kinematics", "plates"),
            source=str(data / "HC030A_straight.c3d"), static=str(data / "HC030A_static.c3d"),
        )
    )  # fmt: skip
    trial, feed = trial_of(run), ForceFeed()
    forces, stages = forces_of(run, trial), prepare(run, feed)
    subject, found = stages[0].subject, []
    right, left = (
        [trial.names.index(name) for name in subject.segments[foot].markers_mm][:pairs]
        for foot in ("foot_r", "foot_l")
    )
    for positions in (trial.positions, exchanged(trial.positions, right, left, slice(60, 80))):
        kept = KeptResults()
        moved = RecordingInput(trial._replace(positions=positions), forces=forces, feed=feed)
        for stage in stages:
            stage.reset()
        Loop(moved, stages, kept).run()
        found.append(kept.results())
    own, seen = found
    assert own.fields["foot_loads"][60:80].max() > 300.0
    assert (seen.status == own.status).all()
    np.testing.assert_array_equal(seen.fields["foot_loads"], own.fields["foot_loads"])
