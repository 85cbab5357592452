"""A foot on the ground from its motion: its frame, its mirror image, any planes, plates that level it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.contact.prescribed import BodyMotion
from kernels.contact.standing_foot import FOOT, TOES, new_standing_work, stand
from rtsim.config.paths import find_config
from rtsim.config.runs.foot_schema import FootSpec
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.methods.foot.foot_contact import (
    MIRROR,
    FootAxes,
    FootContact,
    contact_foot,
    extent,
    foot_axes,
    on_sole,
)
from rtsim.subjects.feet.foot_sole import stand_on

Array = NDArray[np.floating]
UP = np.array([0.0, 1.0, 0.0])
LENGTH = 0.2059
"""From heel to metatarsal 1 of the model itself [m]."""


def standing(height: float = 0.022, pitch: float = 0.0, speed: float = 0.0) -> BodyMotion:
    """Return a foot whose heel's marker is this high, pitched toes down, moving and pitching on."""
    turn = Rotation.from_rotvec([0.0, 0.0, -pitch]).as_matrix()
    return BodyMotion(
        np.array([[0.1, height, -0.2]]),
        turn[None],
        np.array([[0.5 * speed, -0.1 * speed, 0.02 * speed]]),
        np.array([[0.1 * speed, 0.3 * speed, -2.0 * speed]]),
    )


def mirrored(motion: BodyMotion) -> BodyMotion:
    """Return the motion of the other foot."""
    return BodyMotion(
        motion.position @ MIRROR,
        MIRROR @ motion.rotation @ MIRROR,
        motion.velocity @ MIRROR,
        -motion.turning @ MIRROR,
    )


def contact(
    side: int = 0, motion: BodyMotion | None = None, target: float = math.nan, **keys: object
) -> FootContact:
    """Return a foot after one frame on the ground."""
    spec = FootSpec(**keys)  # type: ignore[arg-type]
    foot = FootContact(contact_foot(spec, LENGTH, side), spec)
    foot.take(motion or standing(), 0, np.zeros(3), UP, target)
    return foot


def axes_of(heel: Array, first: Array, fifth: Array, side: int = 0) -> FootAxes:
    """Return the frame of a foot from three marks."""
    return foot_axes({"calcaneus": heel, "metatarsal_1": first, "metatarsal_5": fifth}, side)[0]


def test_axes_of_a_foot_are_those_of_its_markers() -> None:
    """Protects the frame: heel, metatarsal 3 in front, 1 medial in the plane, of either side."""
    heel, first, fifth = (
        np.array([0.0, 0.03, 0.0]),
        np.array([0.2, 0.04, -0.04]),
        np.array([0.18, 0.03, 0.06]),
    )
    right, left = axes_of(heel, first, fifth), axes_of(MIRROR @ heel, MIRROR @ first, MIRROR @ fifth, 1)
    assert (right.side, left.side) == (0, 1)
    for found, x1, x5 in ((right, first, fifth), (left, MIRROR @ first, MIRROR @ fifth)):
        assert np.linalg.det(found.axes) == pytest.approx(1.0)
        one, middle = found.axes.T @ (x1 - found.origin), found.axes.T @ (0.5 * (x1 + x5) - found.origin)
        assert one[1] == pytest.approx(0.0, abs=1e-15)
        np.testing.assert_allclose(middle[1:], 0.0, atol=1e-15)
        assert found.length == pytest.approx(one[0])
        assert found.axes[1, 1] > 0.9
    with pytest.raises(ConfigError, match="one line"):
        axes_of(heel, first, first)


def test_a_left_foot_is_the_mirror_image() -> None:
    """Protects left feet: force, centre, free moment and pressure of the mirrored motion are mirrored."""
    moving = standing(0.02, 0.3, 1.0)
    right, left = contact(0, moving), contact(1, mirrored(moving))
    assert right.force[1] > 50.0
    np.testing.assert_allclose(left.force, MIRROR @ right.force, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(left.centre, MIRROR @ right.centre, rtol=0.0, atol=1e-12)
    assert left.free[0] == pytest.approx(-right.free[0])
    np.testing.assert_allclose(
        left.pressure[:, ::-1], right.pressure, rtol=0.0, atol=1e-6 * right.pressure.max()
    )


def test_pressure_is_the_force() -> None:
    """Protects grid and place: the pressure adds up to the normal force at the centre of pressure."""
    foot = contact()
    cell = 7.5e-3 * 9.0e-3
    assert cell * foot.pressure.sum() == pytest.approx(foot.force[1], rel=0.01)
    low, high = extent(foot.foot)
    rows = 0.1 + 0.5 * (low[0] + high[0]) + 7.5e-3 * (np.arange(39) - 19)
    along = (foot.pressure.sum(axis=1) @ rows) / foot.pressure.sum()
    assert along == pytest.approx(foot.centre[0], abs=1.5e-3)


@pytest.mark.parametrize("side", [0, 1])
def test_the_grid_goes_as_far_as_the_foot(side: int) -> None:
    """Protects the medial edge of the ball: nothing presses beside the usual grid; a small one is told."""
    motion = standing(pitch=0.1)
    foot = contact(side, mirrored(motion) if side else motion, target=700.0, level="plates")
    assert foot.covered
    assert foot.pressure[:, [0, -1]].max() == foot.pressure[[0, -1]].max() == 0.0
    assert not contact(side, grid=(39, 12)).covered


@pytest.mark.parametrize("height", [-0.3, 0.17])
def test_a_step_of_another_height_is_another_plane(height: float) -> None:
    """Protects planes of plates: the foot and its plate moved alike, nothing else changes."""
    foot = contact()
    spec = FootSpec()
    other = FootContact(contact_foot(spec, LENGTH, 0), spec)
    shift = np.array([0.4, height, 0.1])
    moved = standing()._replace(position=standing().position + shift)
    other.take(moved, 0, shift, UP, math.nan)
    np.testing.assert_allclose(other.force, foot.force, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(other.centre, foot.centre + shift, rtol=0.0, atol=1e-12)


def test_an_inclined_plate_is_a_turned_world() -> None:
    """Protects planes of any orientation: foot and plate turned alike turn force and centre with them."""
    plain, spec = standing(0.03, 0.1, 0.2), FootSpec()
    foot = contact(motion=plain)
    turn = Rotation.from_rotvec([0.2, 0.5, -0.1]).as_matrix()
    turned = BodyMotion(
        plain.position @ turn.T, turn @ plain.rotation, plain.velocity @ turn.T, plain.turning @ turn.T
    )
    other = FootContact(contact_foot(spec, LENGTH, 0), spec)
    other.take(turned, 0, np.zeros(3), turn @ UP, math.nan)
    np.testing.assert_allclose(other.force, turn @ foot.force, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(other.centre, turn @ foot.centre, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(other.pressure, foot.pressure, rtol=0.0, atol=1e-6 * foot.pressure.max())


@pytest.mark.parametrize(("height", "pitch"), [(0.1, 0.0), (0.022, 0.2), (-0.05, 0.0), (0.06, 0.5)])
def test_plates_level_the_foot(height: float, pitch: float) -> None:
    """Protects the height that forces tell: from far above or below, flat or pitched, the force is met."""
    foot = contact(motion=standing(height, pitch), target=600.0, level="plates")
    assert foot.force[1] == pytest.approx(600.0, rel=2e-3)
    assert foot.raised[0] + height == pytest.approx(0.02, abs=0.11)


def test_a_foot_that_bears_nothing_has_nothing() -> None:
    """Protects swing: where its plates tell no force, nothing presses, however low the foot is."""
    foot = contact(motion=standing(-0.05), target=3.0, level="plates")
    assert not foot.force.any()
    assert not foot.pressure.any()
    assert np.isnan(foot.centre).all()


def test_a_foot_of_unknown_force_has_none() -> None:
    """Protects from a guess: a foot that plates level, and of which they tell nothing, does not press as high
    as it last was.
    """
    spec = FootSpec(level="plates")
    foot = FootContact(contact_foot(spec, LENGTH, 0), spec)
    foot.take(standing(), 0, np.zeros(3), UP, 700.0)
    assert foot.force[1] == pytest.approx(700.0, rel=1e-3)
    foot.take(standing(), 0, np.zeros(3), UP, math.nan)
    assert np.isnan(foot.force).all()
    assert np.isnan(foot.pressure).all()


def test_size_of_the_foot_is_that_of_the_person() -> None:
    """Protects scaling: a longer foot is as much larger, or as it is where asked for; no foot is told."""
    spec = FootSpec()
    one, two = contact_foot(spec, LENGTH, 0), contact_foot(spec, 1.2 * LENGTH, 0)
    assert (one.size, two.size) == (pytest.approx(1.0), pytest.approx(1.2))
    assert one.names == ("heel", "ball", "toe")
    np.testing.assert_allclose(two.contacts.contacts.radii, 1.2 * one.contacts.contacts.radii)
    own = contact_foot(FootSpec(scaled=False), 1.2 * LENGTH, 0)
    np.testing.assert_allclose(own.contacts.contacts.radii, one.contacts.contacts.radii)
    with pytest.raises(ConfigError, match="the model must be a foot"):
        contact_foot(FootSpec(model="knee"), LENGTH, 0)
    with pytest.raises(ConfigError, match="-50 mm in front of the heel; allowed: 80 to 260 mm"):
        contact_foot(spec, -0.05, 0)


def test_only_volumetric_contacts_make_a_foot(tmp_path) -> None:
    """Protects the pressure: a contact of another law has none, and would look as if it bore nothing."""
    text, other = find_config("foot", "models").read_text(), tmp_path / "other.toml"
    text = text.replace("rolling = true\nspinning = true\n", 'law = "kelvin_voigt"\n')
    other.write_text(text.replace(", transition_angular_velocity_rad_s = 0.01", ""))
    with pytest.raises(
        ConfigError,
        match="a force law that is not supported for feet; allowed: volumetric ellipsoids and spheres",
    ):
        contact_foot(FootSpec(model=str(other)), LENGTH, 0)


def test_toes_lie_level_under_a_raised_heel() -> None:
    """Protects the toes: level while the heel is up, with the foot else; velocities by differences."""
    spec = FootSpec()
    foot = contact_foot(spec, LENGTH, 0)
    step = 1e-6

    def toes(pitch: float, speed: float) -> BodyMotion:
        """Return foot and toes."""
        work = new_standing_work(foot.contacts)
        motion = standing(0.05, pitch)
        turning = np.array([[0.0, 0.0, -speed]])
        stand(foot.contacts, motion._replace(turning=turning), 0, foot.toes, 0.0, 0.0, work)
        return work.motion

    before, now, after = (toes(0.4 + s * step, 1.0) for s in (-1.0, 0.0, 1.0))
    for b in (FOOT, TOES):
        turned = Rotation.from_matrix(after.rotation[b] @ before.rotation[b].T).as_rotvec() / (2.0 * step)
        np.testing.assert_allclose(now.turning[b], turned, atol=1e-6)
        speed = (after.position[b] - before.position[b]) / (2.0 * step)
        np.testing.assert_allclose(now.velocity[b], speed, atol=1e-7)
    up = toes(-0.3, 0.0)
    np.testing.assert_allclose(up.rotation[TOES], up.rotation[FOOT], atol=1e-14)


def test_a_static_trial_tells_the_sole() -> None:
    """Protects level and height: markers anywhere on the foot, the model stands as the person stood."""
    load, spec = 350.0, FootSpec()
    heel, first, fifth = np.array([[0.1, 0.05, -0.2], [0.3, 0.08, -0.24], [0.28, 0.06, -0.14]])
    other = np.array([0.2, 0.1, -0.18])
    turn, shift = Rotation.from_rotvec([0.3, -0.2, 0.5]).as_matrix(), np.array([0.4, 0.1, -0.3])
    local = (np.array([heel, first, fifth, other]) - shift) @ turn  # on a segment that lies askew
    names = ("HEE", "D1M", "D5M", "TOE")
    seen = np.tile([heel, first, fifth, other], (3, 1, 1))
    seen[1] = np.nan
    static = MarkerTrial(names, np.arange(3.0), seen, 1.0, "static")
    tracked = local[[0, 2, 3]]
    found = stand_on(static, names[:3], ("HEE", "D5M", "TOE"), tracked, 0.0, mirrors=False)
    assert found is not None
    np.testing.assert_allclose(found.marks, local[:3], atol=1e-12)
    axes = on_sole(axes_of(*found.marks), found.up, found.height, spec, load)
    np.testing.assert_allclose(turn @ axes.axes[:, 1], UP, atol=1e-12)
    foot = FootContact(contact_foot(spec, axes.length, axes.side), spec)
    place = shift + turn @ axes.origin
    still = BodyMotion(place[None], (turn @ axes.axes)[None], np.zeros((1, 3)), np.zeros((1, 3)))
    foot.take(still, 0, np.zeros(3), UP, math.nan)
    assert foot.force[1] == pytest.approx(load, rel=2e-3)
    assert stand_on(static, ("P1M",), names, local, 0.0, mirrors=False) is None
    with pytest.raises(ConfigError, match="above the ground"):
        stand_on(static, names[:3], ("HEE", "D5M", "TOE"), tracked, 0.4, mirrors=False)
