"""Readings of NatNet's force plates that do not fit together."""

import numpy as np
import pytest

from streams.capture.natnet.frame import NatNetFrame, NatNetPlateSamples
from streams.capture.natnet.messages import Definitions, PlateDefinition
from streams.capture.natnet.plates import CHANNELS, MOST_SAMPLES, NatNetPlates

CORNERS = np.array([[0.5, 0.0, 0.3], [0.0, 0.0, 0.3], [0.0, 0.0, 0.0], [0.5, 0.0, 0.0]])
TWO = Definitions(
    (), tuple(PlateDefinition(k, f"plate {k}", np.zeros(3), CORNERS, True, CHANNELS) for k in (1, 2)), 0
)


def frame_of(*sizes: tuple[int, ...]) -> NatNetFrame:
    """A frame whose plates have these numbers of samples in their channels."""
    plates = tuple(
        NatNetPlateSamples(k + 1, tuple(np.ones(n, np.float32) for n in (size * 6)[:6]))
        for k, size in enumerate(sizes)
    )
    return NatNetFrame(1, {}, np.empty(0), {}, plates, 0, 0, 0.0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("sizes", "left_out"),
    [
        (((10,), (10,)), 0), (((10,),), 0), (((10,), (9,)), 1), (((10,), (10, 9)), 1),
        (((MOST_SAMPLES + 1,), (1,)), 2), ((), 0),
    ],
)  # fmt: skip
def test_readings_that_do_not_fit_together_are_counted(
    sizes: tuple[tuple[int, ...], ...], left_out: int
) -> None:
    """Protects from a plate that is NaN in silence: telemetry tells that its samples could not be used."""
    plates = NatNetPlates(TWO)
    plates.samples(frame_of(*sizes), 0, 10_000_000)
    assert plates.left_out == left_out
    assert NatNetPlates(TWO, plates.left_out).left_out == left_out
