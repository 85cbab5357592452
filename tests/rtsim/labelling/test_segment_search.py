"""One segment in a cloud, beside trying everything."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.labelling.body import SegmentShape, SharedCentre, bases_of, fit, fit_all
from rtsim.labelling.segment_search import KEPT, MOST_BASES, Hypotheses, SegmentHypotheses, seen_segments

Array = NDArray[np.float64]
LOCAL = np.array([[0.0, 0.0, 0.0], [0.21, 0.02, 0.01], [0.05, 0.15, -0.03], [0.1, 0.05, 0.12]])


def turned(generator: np.random.Generator) -> tuple[Array, Array]:
    """A rotation and a shift [m]."""
    q, r = np.linalg.qr(generator.normal(size=(3, 3)))
    q = q @ np.diag(np.sign(np.diag(r)))
    return (q if np.linalg.det(q) > 0.0 else -q), generator.uniform(-1.0, 1.0, 3)


def shape_of(local: Array, joints: tuple[SharedCentre, ...] = ()) -> SegmentShape:
    bases = [bases_of(local, end) for end in (np.zeros((0, 3)), *(joint.here[None] for joint in joints))]
    return SegmentShape("block", np.arange(len(local)), local, joints, tuple(bases))


def seen(shape: SegmentShape, cloud: Array, beside: bool = False) -> SegmentHypotheses:
    """Ways to see a segment alone, or beside one that is in the origin."""
    n = 2 if beside else 1
    before = Hypotheses(np.full((1, len(shape.local)), -1), np.full((1, n, 3, 3), np.nan),
                        np.full((1, n, 3), np.nan), np.zeros(1))  # fmt: skip
    if beside:
        before.rotations[0, 1], before.origins[0, 1] = np.eye(3), 0.0
    apart = np.linalg.norm(cloud[:, None] - cloud[None], axis=2)
    return seen_segments(shape, before, cloud, apart, faces=False)


def off(points: tuple[int, ...], cloud: Array) -> float:
    """Sum of squares of a fit of all markers [m^2]."""
    there = cloud[list(points)]
    return float(np.sum((fit(LOCAL, there).place(LOCAL) - there) ** 2))


@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_all_permutations_is_found(seed: int) -> None:
    """Protects the search by distances: it finds what trying each permutation of the points finds."""
    generator = np.random.default_rng(seed)
    rotation, shift = turned(generator)
    cloud = np.vstack([LOCAL @ rotation.T + shift, generator.uniform(-0.3, 0.3, (4, 3)) + shift])
    cloud = generator.permutation(cloud + generator.normal(0.0, 0.002, cloud.shape))
    best = min(permutations(range(len(cloud)), 4), key=lambda points: off(points, cloud))
    found = seen(shape_of(LOCAL), cloud)
    assert tuple(found.points[0].tolist()) == best
    assert found.costs[0] * shape_of(LOCAL).off_most ** 2 == pytest.approx(off(best, cloud))


def test_a_mirror_image_is_none() -> None:
    """Protects left from right: distances alone would take a mirror image for the segment."""
    assert not (seen(shape_of(LOCAL), LOCAL * [1.0, 1.0, -1.0]).points >= 0).all(axis=1).any()


def test_a_hidden_marker_is_left_out() -> None:
    """Protects from a stranger in the place of what is not seen."""
    cloud = np.vstack([LOCAL[:3], [0.5, 0.5, 0.5]])
    joint = SharedCentre(LOCAL[3], 0, LOCAL[3])
    assert seen(shape_of(LOCAL, (joint,)), cloud).points[0].tolist() == [0, 1, 2, -1]


def test_four_markers_that_no_joint_holds_are_not_told_by_three() -> None:
    """Protects trunks: any three points of a crowd may have the distances of three of theirs."""
    assert not len(seen(shape_of(LOCAL), LOCAL[:3]).costs)


def test_a_joint_centre_stands_in_for_a_marker() -> None:
    """Protects segments of two markers, which a joint with a segment that is seen makes whole."""
    joint = SharedCentre(LOCAL[2], 1, LOCAL[2])
    assert seen(shape_of(LOCAL[:2], (joint,)), LOCAL[[1, 3, 0]], beside=True).points[0].tolist() == [2, 0]


def test_two_markers_are_found_beside_a_vague_joint_centre() -> None:
    """Protects shanks below a thigh of two markers, which says where the knee is within 60 mm more."""
    joint = SharedCentre(LOCAL[2], 1, LOCAL[2], vague=0.06)
    cloud = LOCAL[[1, 3, 0]] - [0.0, 0.08, 0.0]
    assert seen(shape_of(LOCAL[:2], (joint,)), cloud, beside=True).points[0].tolist() == [2, 0]


def test_a_dense_cloud_ends_in_time() -> None:
    """Protects the loop from a cloud in which everything fits everything: the search is cut."""
    cloud = np.random.default_rng(0).uniform(-0.1, 0.1, (300, 3))
    big = np.random.default_rng(1).uniform(-0.1, 0.1, (9, 3))
    assert len(seen(shape_of(big), cloud).costs) <= KEPT * MOST_BASES


def test_a_turn_of_a_table_is_that_of_each_row() -> None:
    """Protects the fit of many segments at once: the rotation that made the points, and its place."""
    generator = np.random.default_rng(8)
    made = [turned(generator) for _ in range(6)]
    ground = np.array([LOCAL @ rotation.T + shift for rotation, shift in made])
    rotations, origins, fixed = fit_all(LOCAL, ground, np.ones((6, 4)))
    np.testing.assert_allclose(rotations, [rotation for rotation, _ in made], atol=1e-12)
    np.testing.assert_allclose(origins, [shift for _, shift in made], atol=1e-12)
    assert fixed.all()
