"""Names of joints in a figure: where there is room, the same in every run."""

from __future__ import annotations

import numpy as np

from rtsim.monitor.stick_names import freest

NOTHING = np.zeros((0, 2))
SIZE = (60.0, 8.0)


def test_names_lie_on_nothing_where_there_is_room():
    """Protects readers: to the right and up of a joint that stands alone, else off markers, segments and the
    names of its neighbours."""
    alone = freest((100.0, 100.0), SIZE, [], NOTHING)
    assert alone == (108.0, 87.0, 168.0, 95.0)
    arm = np.column_stack([np.full(9, 130.0), np.linspace(80.0, 120.0, 9)])
    beside = freest((100.0, 100.0), SIZE, [], arm)
    assert beside.right == 92.0
    below = freest((100.0, 104.0), SIZE, [alone], NOTHING)
    assert not (below.left < alone.right and alone.left < below.right and below.top < alone.bottom)


def test_a_name_hides_places_before_another_name():
    """Protects crowded figures: a name over a marker can be read, one over a name cannot."""
    around = [freest((x, y), SIZE, [], NOTHING) for x in (30.0, 100.0) for y in (100.0, 109.0, 119.0)]
    free = freest((100.0, 100.0), SIZE, around[:5], np.array([[150.0, 110.0]]))
    assert all(
        free.left >= box.right or box.left >= free.right or free.top >= box.bottom or box.top >= free.bottom
        for box in around[:5]
    )
