"""How a person's shank stands turned in the thigh, from the static trial to the pose of `zero`."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from numpy.testing import assert_allclose

from rtsim.files.markers.trial import MarkerTrial
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.load import load_model
from rtsim.models.registration import turned
from rtsim.subjects.calibration.calibration import calibrate
from rtsim.subjects.calibration.segment_records import in_parent
from rtsim.subjects.markers.markers_of import markers_of
from rtsim.subjects.subject import Subject

Person = Callable[..., MarkerTrial]


def posed(angles_deg: tuple[float, ...], n: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Q (n, 4, 3) of a parent and a body turned in it, both tilted in ground."""
    own = np.array([[1.0, 0.0, 0.0], [0.0, 0.4, 0.0], [0.0, 0.0, 0.0], [0.0, 0.2, 0.98]])
    tilt, R = turned(np.array([0.3, -0.2, 0.7])), turned(np.radians(angles_deg))
    return np.stack([own @ tilt.T] * n), np.stack([own @ (tilt @ R).T] * n)


def without_stand(subject: Subject) -> Subject:
    """The subject, of whom nobody knows how the shank stood."""
    shank = msgspec.structs.replace(subject.segments["shank"], in_parent_deg=None)
    return msgspec.structs.replace(subject, segments={**subject.segments, "shank": shank})


def test_the_turn_is_measured_as_it_is() -> None:
    """Protects order and signs of the angles."""
    assert_allclose(in_parent(*posed((-7.0, 4.0, -21.0))), (-7.0, 4.0, -21.0), atol=1e-9)


@pytest.mark.parametrize("moves", [True, False])
def test_only_a_person_who_stands_tells_it(moves: bool) -> None:
    """Protects against a knee registered to a movement, whose landmarks go with skin, or to a bent one."""
    pairs = [posed((-angle, 0.0, 0.0), 1) for angle in ((5.0, 20.0) if moves else (70.0, 71.0))]
    assert in_parent(*(np.concatenate(part) for part in zip(*pairs, strict=True))) is None


def test_zero_stands_as_the_person_stood(person: Person) -> None:
    """Protects hip and knee from one specimen's axes: in the static trial `zero` has the angles of `free` and
    its residuals, which the printed knee has doubled."""
    trial = person()
    subject, spec = calibrate(trial), load_model("lower_limb")
    frame, angles, rms = markers_of(trial, subject)[0], {}, {}
    frame[[name in subject.segments["foot"].markers_mm for name in subject.marker_names]] = np.nan
    for name, who, method in (
        ("zero", subject, "zero"), ("printed", without_stand(subject), "zero"), ("free", subject, "free"),
    ):  # fmt: skip
        estimator = MultibodyEstimator(spec, who, method)
        for _ in range(3):
            assert estimator.estimate(np.ascontiguousarray(frame), 0.01).converged
        angles[name] = np.degrees(estimator.outputs.angles.copy())
        rms[name] = 1e3 * float(estimator.outputs.rms[0])
    assert rms["zero"] < rms["free"] + 0.5 < 0.5 * rms["printed"]
    assert np.abs(angles["zero"] - angles["free"])[:2].max() < 0.5
    assert np.abs(angles["printed"] - angles["free"])[:2].max() > 3.0


def test_the_bias_is_that_of_the_knee_in_use(person: Person) -> None:
    """Protects the bias that is stated: less for a person with a static trial, by the method in use."""
    subject, spec = calibrate(person()), load_model("lower_limb")
    registered = MultibodyEstimator(spec, subject, "zero", ("minimised", "hinge"))
    printed = MultibodyEstimator(spec, without_stand(subject), "zero")
    assert 0.0 < registered.bias_deg["hip_flexion"] < printed.bias_deg["hip_flexion"]
    of_zero = dict(registered.bias_deg)
    registered.switch("minimised")
    assert 0.0 < registered.bias_deg["knee_internal_rotation"] < of_zero["knee_internal_rotation"]
    registered.switch("hinge")
    assert registered.bias_deg == {}
