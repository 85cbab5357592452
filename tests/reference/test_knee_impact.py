"""Five pulses on the volumetric knee, against an independent program for the same model.

The figures are our own integration of the thesis' equations for a free leg (Newton-Euler, SciPy's LSODA to
1e-9, tests/naive/volumetric_knee.py with the thesis' cylinder): time to 90 degrees of flexion, peak medial
force and flexion at which the lateral contact first opens. Brown (2017), chapter 3, reports the last as 65
degrees.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rtsim.bench.contacts.knee import PULSES, pulse_run
from rtsim.config.models.model_schema import ModelSpec
from rtsim.models.load import load_model
from rtsim.models.model import build
from tests.naive.volumetric_knee import grood_suntay_axes, rotation_of, static_pose

# flexion of the first row without lateral force in a second program [deg]: up to a row above the root
FIRST_ROWS = (64.367, 62.859, 60.827, 58.514, 61.440)
NAMES = [pulse.name for pulse in PULSES]


@pytest.fixture(scope="module")
def spec() -> ModelSpec:
    return load_model("knee")


@pytest.fixture(scope="module")
def start_of_the_others(spec):
    """(n_q,) - the rest of the weightless leg held by a moment about the femur's axis, the others' start."""
    rest = static_pose(0.0, held_by="femur").pose
    axes = grood_suntay_axes(rotation_of(0.0, rest[3], rest[4])) * np.array([[1.0], [1.0], [-1.0]])
    translations = np.linalg.solve(axes.T, rest[:3])  # along axes that are not at right angles
    values = dict(
        zip(
            ("flexion", "adduction", "internal_rotation", "lateral_shift", "anterior_drawer", "distraction"),
            (0.0, rest[3], rest[4], *translations),
            strict=True,
        )
    )
    knee = build(load_model("knee"))
    q = np.zeros(len(knee.q_neutral))
    q[knee.coordinates.q] = [values[name] for name in knee.coordinates.names]
    return q


@pytest.mark.parametrize(("pulse", "first_row"), list(zip(PULSES, FIRST_ROWS, strict=True)), ids=NAMES)
def test_pulses_from_the_equilibrium_of_the_model(spec, pulse, first_row):
    """Protects the default run, although it starts held by its hinge instead of about the femur's axis."""
    found = pulse_run(spec, pulse)
    assert found.t90 == pytest.approx(pulse.t90, rel=1e-4)
    assert found.peak_medial == pytest.approx(pulse.peak_medial, rel=1e-3)
    assert found.lift_off == pytest.approx(pulse.lift_off, rel=1e-3)
    assert found.lift_off == pytest.approx(first_row, rel=2e-3)


@pytest.mark.parametrize("pulse", PULSES, ids=NAMES)
def test_pulses_from_the_start_of_the_others(spec, pulse, start_of_the_others):
    """Protects bodies, ligaments and contacts as a whole: from the same start both programs agree."""
    settings = msgspec.structs.replace(spec.simulation, step_ms=0.1)
    found = pulse_run(msgspec.structs.replace(spec, simulation=settings), pulse, start_of_the_others)
    assert found.t90 == pytest.approx(pulse.t90, rel=1e-5)
    assert found.peak_medial == pytest.approx(pulse.peak_medial, rel=1e-4)
    assert found.lift_off == pytest.approx(pulse.lift_off, abs=2e-3)
