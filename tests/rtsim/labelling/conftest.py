"""The walker on both legs, and clouds of points in which nothing tells which marker is which."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.labelling.body import MarkedBody
from rtsim.labelling.labeller import Labeller
from rtsim.live.inputs.sources import load_trial, the_walker
from rtsim.subjects.markers.distances import ruler_of_subject

Array = NDArray[np.float64]


@pytest.fixture(scope="session")
def both_legs() -> tuple[MarkedBody, tuple[str, ...]]:
    """The walker's segments and the names of its markers."""
    subject = the_walker("both")
    return MarkedBody(ruler_of_subject(subject), subject.marker_names, faces=True), subject.marker_names


@pytest.fixture(scope="session")
def walked(both_legs: tuple[MarkedBody, tuple[str, ...]]) -> Array:
    """(n, n_marker, 3) - two seconds of the walker at 100 Hz, in the order of its names [m]."""
    trial = load_trial("walker", 2.0, 100.0, side="both")
    return trial.positions[:, [trial.names.index(name) for name in both_legs[1]]]


class Named:
    """What a labeller has named, frame by frame.

    right, wrong, missing : (n,) numbers of markers; doubted : (n,) whether names were not certain
    """

    def __init__(self, labeller: Labeller, frames: Array, strangers: Array | None = None) -> None:
        generator = np.random.default_rng(3)
        rows, self.doubted = [], []
        for k, frame in enumerate(frames):
            cloud = frame if strangers is None else np.vstack([frame, strangers[k]])
            cloud = generator.permutation(cloud[np.isfinite(cloud[:, 0])])
            markers = np.full(frame.shape, np.nan)
            labeller.label(markers, cloud, 0.01 if k else 0.0)
            seen, got = np.isfinite(frame[:, 0]), np.isfinite(markers[:, 0])
            right = seen & (markers == frame).all(axis=1)
            rows.append((right.sum(), (got & ~right).sum(), (seen & ~got).sum()))
            self.doubted.append(labeller.doubted)
        self.right, self.wrong, self.missing = np.array(rows).T


@pytest.fixture
def name_frames(both_legs: tuple[MarkedBody, tuple[str, ...]]) -> Callable[..., Named]:
    """Names frames (n, n_marker, 3) whose points come in any order, with strangers (n, k, 3) among them."""

    def name(frames: Array, strangers: Array | None = None) -> Named:
        return Named(Labeller(both_legs[0]), frames, strangers)

    return name
