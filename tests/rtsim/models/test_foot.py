"""The shipped foot: the tables of the thesis in the house's axes, and what it does on the ground."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.contact.elements import FRICTION, NORMAL
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.simulation.load import load_simulator
from rtsim.simulation.run import SimulatedRun, run

Array = NDArray[np.floating]

# Brown (2017), table 5.6: radii [mm], place [mm] and 1-2-3 angles [rad] in the foot's and the toes' frame.
TABLE = {
    "heel": ((35.4, 54.0, 22.6), (3.7, 47.9, 0.4), (0.329, 0.201, 0.101)),
    "ball": ((63.2, 33.8, 24.0), (20.0, 167.0, -0.6), (-0.235, 0.191, 0.528)),
    "toe": ((18.2, 18.6, 13.2), (11.0, 10.0, -19.0), (0.339, 1.23, 0.454)),
}
# Table 5.2.
TOES_AT, TOES_TURNED = (46.8, 205.9, -17.1), (2.72, -0.20, -2.89)
# X medial, Y forwards, Z up of a left foot -> x forwards, y up, z to the right of a right one.
TURN = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]])
WEIGHT = 343.0


def test_ellipsoids_are_those_of_the_thesis() -> None:
    """Protects table 5.6 in the house's axes: place and shape of all three, and the toes' axis."""
    model = build(load_model("foot"))
    contacts, toes = model.forces.contacts, Rotation.from_euler("XYZ", TOES_TURNED).as_matrix()
    for e, (name, (radii, place, angles)) in enumerate(TABLE.items()):
        assert model.names.contacts[e] == name
        frame = toes if name == "toe" else np.eye(3)
        axes = TURN @ frame @ Rotation.from_euler("XYZ", angles).as_matrix()
        shape = axes @ np.diag(np.square(radii)) @ axes.T
        E = contacts.rotation[e]
        found = E @ np.diag(np.square(1e3 * contacts.radii[e])) @ E.T
        np.testing.assert_allclose(found, shape, rtol=0.0, atol=1e-4 * np.abs(shape).max())
        np.testing.assert_allclose(1e3 * contacts.centre[e], TURN @ frame @ place, rtol=0.0, atol=1e-3)
    body = next(body for body in load_model("foot").bodies if body.name == "toes")
    np.testing.assert_allclose(body.in_parent.offset_mm, TURN @ TOES_AT, atol=1e-9)
    # a mirror image turns the other way round; both ways of the axis are one line
    np.testing.assert_allclose(body.axis, TURN @ toes[:, 0], atol=1e-6)


def end_of(name: str, n_step: int) -> SimulatedRun:
    """Return the run of a shipped model."""
    return run(load_simulator(name), n_step)


def test_a_dropped_foot_bounces_less_and_less_on_heel_and_ball() -> None:
    """Protects the drop: it loses its energy, and at last its weight is what the ground bears."""
    found = end_of("foot", 3000)
    normal = found.trace.contact[:, :, NORMAL]
    assert normal[:30].max() == 0.0
    assert normal.max() > 30.0
    mean = normal[-500:].sum(axis=1).mean()
    assert mean == pytest.approx((1.164 + 0.2017) * 9.81, rel=0.05)
    assert normal[-500:].max() < 0.4 * normal.max()
    assert normal[-500:, 2].max() == 0.0


def test_a_dragged_foot_slides_by_its_friction() -> None:
    """Protects friction forwards in time: the force that drags is 0.65 of what the ground bears."""
    simulator = load_simulator("foot_dragged")
    found = run(simulator, 2000)
    normal, rubbing = found.trace.contact[:, :, NORMAL], found.trace.contact[:, :, FRICTION]
    total = WEIGHT + (1.164 + 0.2017) * 9.81
    assert normal[-1].sum() == pytest.approx(total, rel=1e-3)
    assert -rubbing[-1].sum() == pytest.approx(0.65 * normal[-1].sum(), rel=1e-3)
    dragging = found.trace.coupler[-1]
    assert np.abs(dragging).max() == pytest.approx(0.65 * total, rel=1e-2)
    held = 900  # before it is dragged
    assert np.abs(rubbing[held].sum()) < 0.2 * total


def test_a_rolled_foot_hands_its_load_from_heel_to_toe() -> None:
    """Protects the roll: heel first, then heel and ball, then ball and toe while the toes are bent."""
    found = end_of("foot_rolled", 1600)
    heel, ball, toe = found.trace.contact[:, :, NORMAL].T
    assert heel[160] > 300.0 > 50.0 > toe[160] == 0.0
    assert min(heel[600], ball[600]) > 50.0
    assert heel[-1] == 0.0
    assert min(ball[-1], toe[-1]) > 50.0
    extension = found.trace.q[-1, -1]
    assert np.radians(3.0) < extension < np.radians(30.0)
