"""The phase of the gait: on made-up walks, as they stop, with plates, one foot alone, and what is no walk."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtsim.bench.runs.gait_phase import (
    LIMIT,
    N_STRIDE,
    WALKS,
    errors_of,
    faster,
    follow,
    steady,
    steps,
    stopped,
    strides_at,
    varies,
    walked,
    waves,
)
from rtsim.methods.gait_phase import GaitPhase, Swing

TIMES = np.arange(0.0, 12.0, 0.01)


@pytest.fixture(scope="module", params=WALKS)
def walk(request):
    """A made-up walk, and how far the left foot is ahead."""
    make, shift = WALKS[request.param]
    return make(), shift


@pytest.fixture(scope="module")
def belt():
    """Places (n, 2) of both feet of a steady walk on a belt at TIMES, and its strides."""
    strides = strides_at(TIMES, steady)
    return WALKS["belt"][0]()(strides), strides


@pytest.mark.parametrize("cadence", [faster, waves, varies, steps])
def test_the_phase_is_right_after_two_strides(walk, cadence):
    """Protects what is promised: at most 3 % of the stride off, of twenty strides whose cadence changes."""
    strides, course = walked(walk[0], cadence)
    errors = errors_of(strides, course, walk[1])
    assert len(errors) > 3000
    assert np.abs(errors).max() <= LIMIT


def test_confidence_falls_when_the_walk_stops(walk):
    """Protects from torque on a person who stands: below a half in half a second, and nothing in one."""
    for part in (0.0, 0.3, 0.7):
        half, nothing = stopped(walk[0], steady, 10.0 + part)
        assert half <= 0.5
        assert nothing <= 1.0


def test_strides_have_to_be_like_each_other():
    """Protects a phase that nobody knows yet: little is trusted before a stride, half of it after one."""
    strides, course = walked(WALKS["belt"][0](), steady)
    first = course.confidences[(strides > 1.6) & (strides < 1.9), 0]
    second, third = (course.confidences[(strides > k + 0.1) & (strides < k + 0.9), 0] for k in (2.0, 3.0))
    assert 0.0 < first.min() <= first.max() == 0.2
    assert second.max() == 0.5
    assert third.min() > 0.9


def test_it_looks_at_no_later_sample(belt):
    """Protects live use: what is told of the first half does not depend on the second."""
    places, _ = belt
    half = len(TIMES) // 2
    short, whole = follow(TIMES[:half], places[:half]), follow(TIMES, places)
    np.testing.assert_array_equal(short.phases, whole.phases[:half])


def test_every_heel_strike_and_toe_off_is_counted(belt):
    """Protects the counts: one of each in a stride, and none of a foot that only trembles."""
    places, strides = belt
    estimate = GaitPhase(2)
    for time, row in zip(TIMES.tolist(), places.tolist(), strict=True):
        estimate.add(time, row)
    walked_by = [strides, strides + 0.5]
    for stride, own in zip(estimate.strides, walked_by, strict=True):
        assert abs(stride.n_strike - np.floor(own[-1])) <= 1
        assert abs(stride.n_off - np.floor(own[-1])) <= 1
    trembling, noise = GaitPhase(1), np.random.default_rng(1).normal(0.0, 0.005, len(TIMES))
    for time, x in zip(TIMES.tolist(), noise.tolist(), strict=True):
        trembling.add(time, [x])
    assert trembling.strides[0].n_strike == 0
    assert np.isnan(trembling.strides[0].phase)


def test_one_foot_alone_will_do(belt):
    """Protects models of one leg: fewer events tell the time of a stride, and the phase is still right."""
    places, strides = belt
    course = follow(TIMES, places[:, :1])
    off = (course.phases[:, 0] - strides + 0.5) % 1.0 - 0.5
    assert np.abs(off[strides > 3.0]).max() < 0.02


@pytest.mark.parametrize("rate", [30.0, 60.0, 1000.0])
def test_rates_of_all_kinds_will_do(rate):
    """Protects slow cameras and fast loops: at 1000 Hz the phase goes on between the samples it looks at."""
    strides, course = walked(WALKS["belt"][0](), faster, rate)
    assert np.abs(errors_of(strides, course, 0.5)).max() <= (5.0 if rate < 60.0 else LIMIT)


def test_a_gap_is_bridged_and_ends_in_nothing(belt):
    """Protects from holes in the markers: a short one costs little, of a long one nothing is made up."""
    places, strides = belt
    holed = places.copy()
    gap = (TIMES > 5.0) & (TIMES < 5.2)
    holed[gap] = np.nan
    course = follow(TIMES, holed)
    off = (course.phases[:, 0] - strides + 0.5) % 1.0 - 0.5
    assert np.abs(off[strides > 3.0]).max() < 0.03
    holed[TIMES > 5.0] = np.nan
    course = follow(TIMES, holed)
    assert course.confidences[TIMES > 7.0].max() == 0.0
    assert np.isnan(course.phases[TIMES > 7.0]).all()


def test_a_walk_that_goes_on_is_followed_again(belt):
    """Protects from a phase of the walk before: after a stop it takes two strides anew."""
    places, _ = belt
    again = np.concatenate([places, np.repeat(places[-1:], 300, axis=0), places])
    times = 0.01 * np.arange(len(again))
    course = follow(times, again)
    later = times - (len(places) + 300) * 0.01
    assert course.confidences[(later > 0.0) & (strides_at(later, steady) < 1.9)].max() <= 0.5
    settled = later > 4.0
    off = (course.phases[settled, 0] - strides_at(later[settled], steady) + 0.5) % 1.0 - 0.5
    assert np.abs(off).max() < 0.02


def test_plates_are_believed_and_remembered(belt):
    """Protects who walks over plates: their strikes are phase zero, and later ones without plates agree."""
    places, strides = belt
    late_s = 0.04
    estimate, phases, told = GaitPhase(2), [], np.floor(strides[0])
    for time, row, now in zip(
        TIMES.tolist(), places.tolist(), strides_at(TIMES - late_s, steady), strict=True
    ):
        estimate.add(time, row)
        if np.floor(now) > told and now < 6.0:
            estimate.press(0, time)
        told = np.floor(now)
        phases.append(estimate.strides[0].phase)
    by_plates = strides_at(TIMES - late_s, steady)
    off = (np.array(phases) - by_plates + 0.5) % 1.0 - 0.5
    assert np.abs(off[(by_plates > 4.0) & (by_plates < 6.0)]).max() < 0.02
    assert np.abs(off[by_plates > 6.0]).max() < 0.02


@given(
    st.lists(st.tuples(st.floats(0.001, 0.3), st.floats(-1.0, 1.0), st.booleans()), max_size=200),
    st.booleans(),
)
def test_whatever_comes_is_survived(samples, pressed):
    """Protects the loop: any places, gaps and plates leave a phase from 0 to 1 or none, and a confidence."""
    estimate, time = GaitPhase(2), 0.0
    for passed, x, hidden in samples:
        time += passed
        estimate.add(time, [x, math.nan if hidden else -x])
        if pressed and x > 0.9:
            estimate.press(int(hidden), time)
        for stride in estimate.strides:
            assert math.isnan(stride.phase) or 0.0 <= stride.phase < 1.0
            assert 0.0 <= stride.confidence <= 1.0
            assert stride.confidence == 0.0 or not math.isnan(stride.phase)
    estimate.add(time + 1.0, [0.0, 0.0])
    with pytest.raises(ValueError, match="times must increase"):
        estimate.add(time, [0.0, 0.0])


def test_a_foot_that_comes_later_is_learnt_then(belt):
    """Protects from a foot without markers at first: the other's phase is right before and after."""
    places, strides = belt
    hidden = places.copy()
    hidden[TIMES < 5.0, 1] = np.nan
    hidden[(TIMES > 8.0) & (TIMES < 9.0), 1] = np.nan
    course = follow(TIMES, hidden)
    off = (course.phases[:, 0] - strides + 0.5) % 1.0 - 0.5
    assert np.abs(off[strides > 3.0]).max() < 0.03


def test_a_missed_step_is_distrusted(belt):
    """Protects from a stride of twice the time: what is not like the stride before has no confidence."""
    places, strides = belt
    stumbling = places.copy()
    swing = (strides > 6.55) & (strides < 7.55)
    stumbling[swing] = places[np.argmax(swing)]
    course = follow(TIMES, stumbling)
    assert course.confidences[(strides > 7.3) & (strides < 8.3), 0].max() <= 0.5
    off = (course.phases[:, 0] - strides + 0.5) % 1.0 - 0.5
    assert np.abs(off[strides > 10.0]).max() < 0.03


def test_speeds_are_slopes(belt):
    """Protects the line through the samples, against numpy's."""
    places, _ = belt
    swing = Swing()
    for k in range(30):
        swing.add(TIMES[k], places[k, 0])
    window = slice(25, 30) if TIMES[29] - TIMES[24] > 0.05 else slice(24, 30)
    slope, _ = np.polyfit(TIMES[window], places[window, 0], 1)
    assert swing.speed == pytest.approx(slope)
    assert swing.time == pytest.approx(TIMES[window].mean())


def test_twenty_strides_are_twenty(walk):
    """Protects the made-up walks themselves: they end at the twentieth stride, and feet are half a metre long
    steps apart."""
    strides, _ = walked(walk[0], faster)
    assert strides[-1] == pytest.approx(N_STRIDE, abs=0.02)
    places = walk[0](strides)
    assert 0.3 < np.ptp(places[:, 0]) < 0.9


@pytest.mark.parametrize("begin", [0.28, 0.76])
def test_a_plate_may_tell_before_there_was_a_phase(begin):
    """Protects a live run: a strike of a plate or a file that comes with the leg's first one ended it."""
    phases, marks = GaitPhase(2), [(0.5 * k + 0.08, k % 2) for k in range(2, 10)]
    for k in range(round(100 * begin), 500):
        time = 0.01 * k
        phases.add(time, [0.3 * math.cos(2.0 * math.pi * time + math.pi * foot) for foot in (0, 1)])
        while marks and marks[0][0] <= time:
            phases.press(marks[0][1], marks.pop(0)[0])
    assert phases.strides[0].phase == pytest.approx((time - 0.08) % 1.0, abs=0.02)
