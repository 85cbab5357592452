"""Names of joints in a figure: where there is room, the same in every run."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.monitor.pose.stick_names import Box, freest

NOTHING = np.zeros((0, 2))
SIZE = (60.0, 8.0)
PICTURE = Box(0.0, 0.0, 400.0, 300.0)


def test_names_lie_on_nothing_where_there_is_room():
    """Protects readers: to the right and up of a joint that stands alone, else off markers, segments and the
    names of its neighbours."""
    alone = freest((100.0, 100.0), SIZE, [], NOTHING, PICTURE)
    assert alone == (108.0, 87.0, 168.0, 95.0)
    arm = np.column_stack([np.full(9, 130.0), np.linspace(80.0, 120.0, 9)])
    beside = freest((100.0, 100.0), SIZE, [], arm, PICTURE)
    assert beside.right == 92.0
    below = freest((100.0, 104.0), SIZE, [alone], NOTHING, PICTURE)
    assert not (below.left < alone.right and alone.left < below.right and below.top < alone.bottom)


def test_a_name_hides_places_before_another_name():
    """Protects crowded figures: a name over a marker can be read, one over a name cannot."""
    around = [
        freest((x, y), SIZE, [], NOTHING, PICTURE) for x in (30.0, 100.0) for y in (100.0, 109.0, 119.0)
    ]
    free = freest((100.0, 100.0), SIZE, around[:5], np.array([[150.0, 110.0]]), PICTURE)
    assert all(
        free.left >= box.right or box.left >= free.right or free.top >= box.bottom or box.top >= free.bottom
        for box in around[:5]
    )


@pytest.mark.parametrize("at", [(20.0, 100.0), (380.0, 100.0), (200.0, 2.0), (200.0, 299.0), (2.0, 2.0)])
def test_names_stay_within_the_picture(at):
    """Protects readers at the edge: a name is whole, where things drawn push it out of the picture, too."""
    x, y = at
    wall = np.column_stack([np.full(61, x + 30.0), np.linspace(y - 30.0, y + 30.0, 61)])
    other = wall - (60.0, 0.0)
    for drawn in (NOTHING, wall, other, np.vstack([wall, other])):
        name = freest(at, SIZE, [], drawn, PICTURE)
        assert name.right - name.left == SIZE[0]
        assert name.bottom - name.top == SIZE[1]
        assert name.left >= 0.0
        assert name.right <= 400.0
        assert name.top >= 0.0
        assert name.bottom <= 300.0
