"""The knee as a mechanism: its motion, its constraints and the nearest of its poses."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ModelError
from rtsim.methods.knee.knee_geometry import KneeGeometry, knee_geometry_of
from rtsim.methods.knee.knee_mechanism import (
    LEVER,
    constraint_slopes,
    constraints,
    moved_along,
    nearest_poses,
    weighed,
)
from rtsim.methods.knee.knee_poses import KneePoses, displacements_of, poses_of, rotations_of
from rtsim.models.load import load_model
from tests.naive import knee_mechanism, knee_tables

FLEXION = np.radians(np.arange(0.0, 101.0, 5.0))


@pytest.fixture(scope="module")
def geometry() -> KneeGeometry:
    """Of the shipped model."""
    return knee_geometry_of(load_model("lower_limb"))


@pytest.fixture(scope="module")
def motion(geometry: KneeGeometry) -> KneePoses:
    """Of the mechanism."""
    return moved_along(geometry, FLEXION)


def test_the_geometry_is_that_of_table_1(geometry: KneeGeometry) -> None:
    """Protects the numbers: those of the twin, neutral lengths included."""
    for k, name in enumerate(knee_tables.COMPARTMENTS):
        np.testing.assert_allclose(geometry.normals[k], knee_tables.PLATEAU_NORMALS[name], atol=1e-15)
        np.testing.assert_allclose(geometry.condyles[k], knee_tables.FEMUR_POINTS[f"{name}_condyle"])
    np.testing.assert_allclose(geometry.neutral_lengths, knee_tables.neutral_lengths(), atol=1e-15)
    np.testing.assert_allclose(geometry.lengths, list(knee_tables.MECHANISM_LENGTHS.values()))


def test_the_motion_is_the_twins(motion: KneePoses) -> None:
    """Protects the motion: SciPy's root finder has the same poses from the same constraints."""
    angles, places = knee_mechanism.passive_motion(FLEXION)
    np.testing.assert_allclose(motion.angles, angles, atol=1e-9)
    np.testing.assert_allclose(motion.places, places, atol=1e-11)
    rotations = [knee_mechanism.rotation(*row) for row in angles]
    np.testing.assert_allclose(rotations_of(motion.angles), rotations, atol=1e-9)


def test_slopes_are_those_of_central_differences(geometry: KneeGeometry, motion: KneePoses) -> None:
    """Protects the derivatives by all six coordinates."""
    step, columns = 1e-6, []
    for e in np.eye(6):
        ahead, behind = (
            KneePoses(motion.angles + h * e[:3], motion.places + h * e[3:]) for h in (step, -step)
        )
        columns.append((constraints(geometry, ahead) - constraints(geometry, behind)) / (2.0 * step))
    np.testing.assert_allclose(constraint_slopes(geometry, motion), np.stack(columns, axis=2), atol=1e-8)


def test_displacements_undo_poses(motion: KneePoses) -> None:
    """Protects files: angles and displacements along the joint's own axes give the pose back."""
    again = poses_of(motion.angles, displacements_of(motion))
    np.testing.assert_allclose(again.places, motion.places, atol=1e-15)


def test_the_nearest_pose_is_on_the_motion(geometry: KneeGeometry, motion: KneePoses) -> None:
    """Protects the measure: constraints hold, the correction is square to the motion, and to first order it
    has the length that the weights give."""
    rng = np.random.default_rng(4)
    off = 1e-5 * rng.normal(size=(len(FLEXION), 6))
    given = KneePoses(motion.angles + off[:, :3] / LEVER, motion.places + off[:, 3:])
    nearest = nearest_poses(geometry, given)
    assert np.abs(constraints(geometry, nearest)).max() < 1e-12
    moved = np.hstack([(nearest.angles - given.angles) * LEVER, nearest.places - given.places])
    slopes = constraint_slopes(geometry, given)
    value = np.linalg.solve(weighed(slopes), constraints(geometry, given)[:, :, None])[:, :, 0]
    np.testing.assert_allclose(
        np.linalg.norm(moved, axis=1), np.linalg.norm(value, axis=1), rtol=0.1, atol=1e-7
    )


def test_a_flexion_out_of_reach_is_told(geometry: KneeGeometry) -> None:
    """Protects users from endless or wrong answers beyond what the mechanism can do."""
    with pytest.raises(ModelError, match=r"cannot be assembled at .* degrees of flexion"):
        moved_along(geometry, np.radians(np.arange(0.0, 150.0, 2.0)))
