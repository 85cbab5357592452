"""One segment in a cloud, beside trying everything."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.labelling.body import SegmentShape, fit
from rtsim.labelling.segment_search import ways_to_see

Array = NDArray[np.float64]
LOCAL = np.array([[0.0, 0.0, 0.0], [0.21, 0.02, 0.01], [0.05, 0.15, -0.03], [0.1, 0.05, 0.12]])


def turned(generator: np.random.Generator) -> tuple[Array, Array]:
    """A rotation and a shift [m]."""
    q, r = np.linalg.qr(generator.normal(size=(3, 3)))
    q = q @ np.diag(np.sign(np.diag(r)))
    return (q if np.linalg.det(q) > 0.0 else -q), generator.uniform(-1.0, 1.0, 3)


def shape_of(local: Array) -> SegmentShape:
    return SegmentShape("block", np.arange(len(local)), local, ())


@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_all_permutations_is_found(seed: int) -> None:
    """Protects the search by distances: it finds what trying each permutation of the points finds."""
    generator = np.random.default_rng(seed)
    rotation, shift = turned(generator)
    cloud = np.vstack([LOCAL @ rotation.T + shift, generator.uniform(-0.3, 0.3, (4, 3)) + shift])
    cloud = generator.permutation(cloud + generator.normal(0.0, 0.002, cloud.shape))
    rms = {order: fit(LOCAL, cloud[list(order)]).rms for order in permutations(range(len(cloud)), 4)}
    best = ways_to_see(shape_of(LOCAL), [], cloud, np.ones(len(cloud), bool))[0]
    assert best.points == min(rms, key=lambda order: rms[order])
    assert best.placement.rms == pytest.approx(min(rms.values()))


def test_a_mirror_image_is_none() -> None:
    """Protects left from right: distances alone would take a mirror image for the segment."""
    cloud = LOCAL * [1.0, 1.0, -1.0]
    assert not [w for w in ways_to_see(shape_of(LOCAL), [], cloud, np.ones(4, bool)) if min(w.points) >= 0]


def test_a_hidden_marker_is_left_out() -> None:
    """Protects from a stranger in the place of what is not seen."""
    cloud = np.vstack([LOCAL[:3], [0.5, 0.5, 0.5]])
    assert ways_to_see(shape_of(LOCAL), [], cloud, np.ones(4, bool))[0].points == (0, 1, 2, -1)


def test_a_joint_centre_stands_in_for_a_marker() -> None:
    """Protects segments of two markers, which a joint with a segment that is seen makes whole."""
    anchors = [(LOCAL[2], LOCAL[2], 0.0)]
    way = ways_to_see(shape_of(LOCAL[:2]), anchors, LOCAL[[1, 3, 0]], np.ones(3, bool))[0]
    assert way.points == (2, 0)


def test_a_dense_cloud_ends_in_time() -> None:
    """Protects the loop from a cloud in which everything fits everything: the search is cut."""
    cloud = np.random.default_rng(0).uniform(-0.1, 0.1, (300, 3))
    big = np.random.default_rng(1).uniform(-0.1, 0.1, (9, 3))
    assert len(ways_to_see(shape_of(big), [], cloud, np.ones(300, bool))) <= 6
