"""A step made ready: the frame of the foot, what is no foot, level plates, the filter."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from rtsim.errors import ConfigError
from rtsim.files.forces.force_trial import lay_out
from rtsim.methods.foot.foot_trial import check_foot, level_height, low_pass
from rtsim.methods.kinematics.smoothing import cutoff_of_each_run
from rtsim.subjects.feet.foot_frame import AXIS_HEIGHT, foot_frame, rigid_pose, rigid_twist
from tests.rtsim.methods.flat_foot import FLAT

Array = NDArray[np.floating]


@pytest.mark.parametrize(
    ("changed", "off", "said"),
    [
        ({"calcaneus": [0.01, 0.0, -0.02]}, 0.003, "the heel marker is -20 mm above the plate"),
        ({"metatarsal_1": [0.05, 0.03, 0.04]}, 0.003, "in front of the heel; allowed: 80 to 260 mm"),
        ({"metatarsal_5": [-0.15, 0.17, 0.03]}, 0.003, "metatarsals 1 and 5 are 198 mm apart"),
        ({}, 0.02, "calcaneus moves relative to the foot by 20 mm"),
    ],
)
def test_markers_of_no_foot_are_refused(changed, off, said):
    """Protects from labels that are exchanged, plates at another height, markers that leap or are stuck."""
    frame = foot_frame({**FLAT, **{role: np.array(place) for role, place in changed.items()}}, "a trial")
    with pytest.raises(ConfigError, match=said):
        check_foot(frame, frame.names, np.array([off, 0.0, 0.0, 0.0, 0.0]), "a trial")
    sound = foot_frame(FLAT, "a trial")
    check_foot(sound, sound.names, np.full(5, 0.003), "a trial")


def test_a_plate_that_leans_has_no_step():
    """Protects from a ramp fitted as a level floor: height of a level plate, one sentence for another."""
    flat = np.array([[0.3, 0.1, 0.2], [-0.3, 0.1, 0.2], [-0.3, 0.1, -0.2], [0.3, 0.1, -0.2]])
    ramp = flat + np.outer(flat[:, 0], [0.0, 0.1, 0.0])
    plates = lay_out(np.array([flat, ramp]), np.zeros(2))
    assert level_height(plates, 0, "a trial") == pytest.approx(0.1)
    with pytest.raises(ConfigError, match=r"the plate is inclined by 5\.7 degrees; allowed: up to 2 degrees"):
        level_height(plates, 1, "a trial")


def test_the_frame_of_a_foot():
    """Protects figure 5.7: Y through the third metatarsal, the first in the X-Y plane, toes 16 mm high."""
    frame = foot_frame(FLAT, "a foot")
    at = dict(zip(frame.names, frame.markers, strict=True))
    np.testing.assert_allclose(at["calcaneus"], 0.0, atol=1e-15)
    np.testing.assert_allclose(at["metatarsal_3"][[0, 2]], 0.0, atol=1e-15)
    assert at["metatarsal_1"][0] > 0.02
    assert at["metatarsal_1"][2] == pytest.approx(0.0, abs=1e-15)
    assert frame.up[2] > 0.95
    height = frame.heel_height + frame.toe_origin @ frame.up
    assert height == pytest.approx(AXIS_HEIGHT)
    assert frame.toe_axes[:, 0] @ frame.up == pytest.approx(0.0, abs=1e-14)
    np.testing.assert_allclose(frame.toe_axes.T @ frame.toe_axes, np.eye(3), atol=1e-14)
    assert np.linalg.det(frame.toe_axes) == pytest.approx(1.0)
    toe = frame.toe_axes.T @ (at["hallux"] - frame.toe_origin)
    assert toe[1] > 0.0
    assert toe[2] == pytest.approx(0.0, abs=1e-14)
    assert frame.notes == ()


def test_what_stands_in_for_missing_markers_is_named():
    """Protects the report: the third metatarsal from its neighbours, toes level."""
    without = {name: x for name, x in FLAT.items() if name not in ("metatarsal_3", "hallux")}
    notes = foot_frame(without, "a foot").notes
    assert "the midpoint between the first and the fifth" in notes[0]
    assert "the toes are assumed horizontal" in notes[1]
    second = {**without, "metatarsal_2": np.array([0.02, 0.21, 0.04])}
    assert "a third of the way from the second to the fifth" in foot_frame(second, "a foot").notes[0]


def test_a_foot_without_its_markers_is_refused():
    """Protects the sentence for a foot that cannot be placed."""
    with pytest.raises(ConfigError, match="the trial lacks the marker metatarsal_1 of the foot"):
        foot_frame({k: x for k, x in FLAT.items() if k != "metatarsal_1"}, "a foot")
    line = {name: np.array([0.0, 0.05 * k, 0.0]) for k, name in enumerate(FLAT)}
    with pytest.raises(ConfigError, match="lie on one line"):
        foot_frame(line, "a foot")


def test_a_rigid_motion_is_found_again():
    """Protects pose and twist of a body from its markers."""
    rng = np.random.default_rng(2)
    local, R = rng.uniform(-0.1, 0.1, (4, 3)), Rotation.random(6, rng).as_matrix()
    x, v, w = (rng.uniform(-1.0, 1.0, (6, 3)) for _ in range(3))
    seen = x[:, None] + np.einsum("nij,mj->nmi", R, local)
    velocity = v[:, None] + np.cross(w[:, None], seen - x[:, None])
    found_x, found_R = rigid_pose(local, seen)
    np.testing.assert_allclose(found_x, x, atol=1e-12)
    np.testing.assert_allclose(found_R, R, atol=1e-12)
    found_v, found_w = rigid_twist(R, local, velocity)
    np.testing.assert_allclose(found_v, v, atol=1e-10)
    np.testing.assert_allclose(found_w, w, atol=1e-10)


@pytest.mark.parametrize("rate", [100.0, 128.0, 150.0, 200.0])
def test_the_filter_is_that_of_the_thesis(rate):
    """Protects pass 5 Hz, stop 20 Hz: there and back a tenth is left at the stop, 0.7 or more passes."""
    spec = low_pass(rate)
    corner = np.tan(np.pi * cutoff_of_each_run(spec, rate) / rate)

    def gain(f: float) -> float:
        return 1.0 / (1.0 + (np.tan(np.pi * f / rate) / corner) ** (2 * spec.order))

    assert gain(20.0) == pytest.approx(0.1)
    assert gain(5.0) > np.sqrt(0.5)
