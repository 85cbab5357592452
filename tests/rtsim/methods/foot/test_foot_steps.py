"""Steps of a walk over plates: which are complete, what is told of the others, and the weight."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.plates.plate_assignment import BEARS, NONE, TWO_FEET, UNSEEN
from kernels.plates.plate_contact import EMPTY, LOADED, NOT_MEASURED
from rtsim.errors import ConfigError
from rtsim.methods.foot.foot_steps import body_weight, find_steps, usable
from rtsim.methods.plates.plate_loads import PlateLoads

Array = NDArray[np.floating]


def loads(n: int = 100, plates: int = 2) -> PlateLoads:
    """Return plates of which nothing is pressed, at 100 Hz."""
    zero = np.zeros((n, plates, 3))
    return PlateLoads(
        np.arange(n) / 100.0, 0.0, zero.copy(), zero.copy(), zero.copy(), zero[..., 0].copy(),
        np.full((n, plates), EMPTY), np.full((n, plates, 2), NONE), np.zeros((n, plates), np.int64),
        zero.copy(), zero.copy(),
    )  # fmt: skip


def press(some: PlateLoads, plate: int, first: int, last: int, foot: int = 0, force: float = 700.0) -> None:
    """A foot presses a plate from one frame to another."""
    rows = slice(first, last + 1)
    some.force[rows, plate, 1] = force
    some.loaded[rows, plate] = LOADED
    some.share[rows, plate, foot] = BEARS


def lose(some: PlateLoads, plate: int, rows: slice) -> None:
    """Nothing is known of a plate in these frames."""
    some.force[rows, plate] = np.nan
    some.loaded[rows, plate] = NOT_MEASURED
    some.share[rows, plate] = NONE


def test_a_complete_step_is_found():
    """Protects first and last frame, plate and foot of a step."""
    some = loads()
    press(some, 1, 20, 80, foot=1)
    (step,) = find_steps(some, ("a", "b"))
    assert step == (1, 1, 20, 80, "")


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [(60, 99, "the trial ends while a bears 700 N"), (0, 40, "the trial begins while a bears 700 N")],
)
def test_a_cut_step_is_told(first, last, said):
    """Protects against a step that the trial cuts."""
    some = loads()
    press(some, 0, first, last)
    (step,) = find_steps(some, ("a", "b"))
    assert said in step.fault
    assert not usable([step])


def test_a_force_that_has_nearly_gone_is_no_cut():
    """Protects steps whose last newtons fall to the end of a trial."""
    some = loads()
    press(some, 0, 40, 99)
    some.force[95:, 0, 1] = 40.0
    assert usable(find_steps(some, ("a", "b")))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (slice(0, 20), "the forces begin at 0.20 s while a bears 700 N, so the footstep is incomplete"),
        (slice(81, 100), "the forces end at 0.80 s while a bears 700 N, so the footstep is incomplete"),
        (
            slice(81, 84),
            "the force is not known at 0.81 s, one frame after a frame in which a bears 700 N, so the "
            "footstep is incomplete",
        ),
        (slice(50, 53), "the force on a is not known at 0.50 to 0.52 s"),
    ],
)
def test_a_step_whose_force_is_not_known_is_told(rows, said):
    """Protects from steps that forces cut, which begin or end elsewhere than the markers, and from gaps."""
    some = loads()
    press(some, 0, 20, 80)
    lose(some, 0, rows)
    (step,) = find_steps(some, ("a", "b"))
    assert step.fault == said


def test_all_that_is_wrong_with_a_step_is_told():
    """Protects two feet on a plate from being hidden behind a step that is cut."""
    some = loads()
    press(some, 0, 50, 99)
    some.status[60:80, 0] = TWO_FEET
    (step,) = find_steps(some, ("a", "b"))
    assert step.fault == (
        "the trial ends while a bears 700 N, so the footstep is incomplete; "
        "two feet are on a in 20 of 50 frames"
    )


def test_two_feet_on_a_plate_are_told():
    """Protects against what two feet press together."""
    some = loads()
    press(some, 0, 20, 80)
    some.status[20:60, 0] = TWO_FEET
    (step,) = find_steps(some, ("a", "b"))
    assert step.fault == "two feet are on a in 40 of 61 frames"


def test_a_plate_that_no_foot_bears_is_told():
    """Protects against a foot that is on another plate than its force."""
    some = loads()
    press(some, 0, 20, 80)
    some.share[20:81, 0] = NONE
    (step,) = find_steps(some, ("a", "b"))
    assert "not under the foot in 61 of 61 frames" in step.fault


def test_a_foot_that_is_not_seen_is_told():
    """Protects from the blame of plates where markers are gone: their frames tell nothing of the foot."""
    some = loads()
    press(some, 0, 20, 80)
    some.share[40:60, 0], some.status[40:60, 0] = NONE, UNSEEN
    (step,) = find_steps(some, ("a", "b"))
    assert step.fault == "a foot is not visible in 20 of 61 frames in which a is loaded"


def test_a_touch_is_no_step():
    """Protects against a contact shorter than any step."""
    some = loads()
    press(some, 0, 20, 30)
    assert find_steps(some, ("a", "b")) == []


def test_weight_is_the_mean_of_a_stride():
    """Protects the scale of the normal force: from the second of four contacts to the fourth."""
    some = loads(300, 4)
    for k in range(4):
        press(some, k, 20 + 60 * k, 20 + 60 * k + 59, foot=k % 2)
    assert body_weight(some, None, "a trial") == (pytest.approx(700.0), "from the forces of 1 whole stride")
    assert body_weight(some, 70.0, "a trial") == (pytest.approx(686.7), "from the mass given by --mass")
    some.force[:] *= 1e3
    with pytest.raises(ConfigError, match="which cannot be the weight of a person; allowed: 20 to 3924 N"):
        body_weight(some, None, "a trial")
    with pytest.raises(ConfigError, match="give --mass"):
        body_weight(loads(), None, "a trial")


def test_a_stride_with_a_gap_tells_no_weight():
    """Protects the weight from frames without a known force, which would count as none."""
    some = loads(400, 5)
    for k in range(5):
        press(some, k, 20 + 60 * k, 20 + 60 * k + 59, foot=k % 2)
    lose(some, 1, slice(90, 95))
    assert body_weight(some, None, "a trial") == (
        pytest.approx(700.0),
        "from the forces of 1 whole stride; left out for unknown forces: 1",
    )  # fmt: skip
    lose(some, 3, slice(230, 235))
    with pytest.raises(
        ConfigError, match="the forces are not known throughout any of the 2 strides; give --mass"
    ):
        body_weight(some, None, "a trial")


@pytest.mark.parametrize(
    ("steps", "pause"),
    [
        ([(0, 0), (1, 1), (1, 1), (0, 0)], 100),  # turns on the foot that left the plates last
        ([(0, 0), (1, 1), (0, 1), (1, 0)], 100),
        ([(0, 0), (1, 1), (0, 0), (1, 1)], 80),  # comes back at once
        ([(0, 0), (1, 1), (0, 0), (1, 1)], 400),  # comes back after a while
    ],
)
def test_there_and_back_over_two_plates_tells_no_weight(steps, pause):
    """Protects the weight from the time beside the plates, in which they bear nothing, between two walks."""
    some, first = loads(900), 20
    for k, (plate, foot) in enumerate(steps):
        first += pause if k == 2 else 0
        press(some, plate, first, first + 59, foot=foot)
        first += 60
    with pytest.raises(ConfigError, match="no four follow each other as in a walk"):
        body_weight(some, None, "a trial")


@pytest.mark.parametrize("flight", [10, 18, 20, 30])
def test_a_run_over_plates_tells_the_weight(flight):
    """Protects runs, whose flights no plate bears; a pause in which a step may have been beside the
    plates still tells none."""
    some, between = loads(400, 4), 25 + flight
    for k in range(4):
        press(some, k, 20 + between * k, 20 + between * k + 24, foot=k % 2, force=28.0 * between)
    if flight >= 20:
        with pytest.raises(ConfigError, match=r"the plates unloaded for less than 0\.2 s"):
            body_weight(some, None, "a trial")
    else:
        assert body_weight(some, None, "a trial") == (
            pytest.approx(700.0), "from the forces of 1 whole stride"
        )  # fmt: skip


def test_an_empty_plate_that_is_noisy_tells_no_steps():
    """Protects the weight from touches of an empty plate: they are no contacts of a foot."""
    some = loads(400, 5)
    for k in range(4):
        press(some, k, 20 + 60 * k, 20 + 60 * k + 59, foot=k % 2)
    expected = body_weight(some, None, "a trial")
    for first in (5, 30, 90, 150, 300, 320, 340, 360):
        some.force[first : first + 2, 4, 1], some.loaded[first : first + 2, 4] = 21.0, LOADED
    some.force[370:399, 4, 1], some.loaded[370:399, 4] = 21.0, LOADED  # as long as a step, of no foot
    weight, source = body_weight(some, None, "a trial")
    assert weight == pytest.approx(expected[0], rel=2e-3)
    assert source == expected[1]


def test_the_trial_may_end_on_the_fourth_plate():
    """Protects short trials: of the last of four contacts only the beginning counts, whichever foot it is."""
    some = loads(210, 4)
    for k in range(3):
        press(some, k, 20 + 60 * k, 20 + 60 * k + 59, foot=k % 2)
    press(some, 3, 200, 209, foot=1)
    some.share[200:, 3] = NONE
    assert body_weight(some, None, "a trial") == (pytest.approx(700.0), "from the forces of 1 whole stride")
    some.force[200:, 3, 1] = 21.0
    with pytest.raises(ConfigError, match="only 3 footsteps begin on plates"):
        body_weight(some, None, "a trial")


def test_strides_beside_walks_are_counted():
    """Protects from silence: what is no stride of a walk over the plates is told beside those that are."""
    some, first = loads(900, 4), 20
    for k in range(8):
        first += 150 if k == 4 else 0
        press(some, k % 4, first, first + 59, foot=k % 2)
        first += 60
    assert body_weight(some, None, "a trial") == (
        pytest.approx(700.0),
        "from the forces of 2 whole strides; left out because the person turned or stepped off the plates: 3",
    )
