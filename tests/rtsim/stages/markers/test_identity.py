"""Whether it is still the same person: leaps of all labels, gaps, and what is none of both."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.stages.markers.identity import KNOWN, Identity

DT = 0.01
BODY = np.repeat([1, 2, 3], 4).astype(np.int64)
SHAPE = np.random.default_rng(3).uniform(-0.2, 0.2, (12, 3)) + np.repeat(
    [[0, 1.0, 0], [0, 0.6, 0], [0, 0.2, 0]], 4, 0
)
N = 200


def walk(n: int = N, speed: float = 1.5) -> np.ndarray:
    """Markers (n, 12, 3) [m] of somebody who goes along X, with 2 mm of skin."""
    t = DT * np.arange(n)[:, None, None]
    skin = 0.002 * np.random.default_rng(1).standard_normal((n, 12, 3))
    return SHAPE + t * np.array([speed, 0.0, 0.0]) + 0.03 * np.sin(7.0 * t) + skin


def doubts(markers: np.ndarray, times: np.ndarray | None = None, pelvis: int = -1) -> np.ndarray:
    """(n,) - whether each frame is in doubt."""
    identity = Identity(BODY, SHAPE, pelvis)
    steps = np.full(len(markers), DT) if times is None else np.diff(times, prepend=times[0])
    return np.array([identity.look(x, float(dt)) for x, dt in zip(markers, steps, strict=True)])


@pytest.mark.parametrize("size", [1.0, 0.98, 1.02, 1.07])
@pytest.mark.parametrize("aside", [0.3, 1.5])
def test_another_person_who_takes_all_labels_is_in_doubt_to_the_end(size, aside):
    """Protects against a second person of any size: distances of one of the same size settle nothing."""
    markers = walk()
    markers[100:] = size * markers[100:] + [0.0, 0.0, aside]
    found = doubts(markers)
    assert not found[:100].any()
    assert found[100:].all()


def test_labels_that_come_back_are_the_persons_again():
    """Protects the rest of a recording: some frames after the labels are back there is no doubt."""
    markers = walk()
    markers[100:130] += [0.0, 0.0, 0.6]
    found = doubts(markers)
    assert found[100:130].all()
    assert not found[136:].any()


def test_labels_that_leap_on_to_a_third_place_are_in_doubt():
    """Protects against a third person: only where the own one can have gone are labels back."""
    markers = walk()
    markers[100:] += [0.0, 0.0, 1.0]
    markers[130:] += [0.0, 0.0, 1.5]
    assert doubts(markers)[100:].all()


@pytest.mark.parametrize("rate", [25.0, 100.0, 500.0])
def test_motion_is_no_leap(rate):
    """Protects fast people and slow cameras: 10 m/s, sudden stops, noise, frames sent twice."""
    t = np.arange(300)[:, None, None] / rate
    way = np.where(t < 0.5 * t.max(), 10.0 * t, 5.0 * t.max())
    markers = SHAPE + way * np.array([1.0, 0.0, 0.0])
    markers += 0.01 * np.random.default_rng(2).standard_normal(markers.shape) * (rate > 25.0)
    identity = Identity(BODY, SHAPE)
    again = [
        identity.look(x, 1.0 / rate if k else 0.0)
        for k in range(300)
        for x in (markers[k - k % 2 * (k < 60)],)
    ]
    assert not any(again)


def test_a_stall_and_a_gap_are_no_leaps():
    """Protects a stream that stands still or falls silent while the person goes on."""
    still, gone = walk(), walk()
    still[100:130] = still[99]
    gone[100:130] = np.nan
    for markers in (still, gone):
        assert not doubts(markers).any()
    times = DT * np.arange(N - 30)
    times[100:] += 0.3
    assert not doubts(np.delete(walk(), slice(100, 130), axis=0), times).any()


def test_after_a_gap_distances_tell_another_person():
    """Protects against another person behind a gap, as far as their distances differ from those before."""
    markers = walk()
    markers[100:120] = np.nan
    markers[120:] *= 1.07
    found = doubts(markers)
    assert not found[:120].any()
    assert found[125:].all()
    back = walk()
    back[100:120] = np.nan
    back[120:150] *= 1.07
    back[150:160] = np.nan
    assert not doubts(back)[170:].any()


def test_some_markers_that_leap_are_not_the_person():
    """Protects what faults of single markers and segments are told as: a third of them is no other person."""
    markers = walk()
    markers[100:150, :4] += [0.0, 0.0, 0.5]
    assert not doubts(markers).any()


def test_labels_that_are_exchanged_within_the_person_are_not_another() -> None:
    """Protects exchanged sides, which are told and put right as such: the person stays in its place."""
    markers = walk()
    for k in range(100, 150):  # the first body turned over in its place, the others on the other leg
        markers[k, :4] = 2.0 * markers[k, :4].mean(axis=0) - markers[k, :4]
        markers[k, 4:] += [0.0, 0.0, 0.3]
    assert not doubts(markers).any()


def test_nobody_is_known_at_first():
    """Protects starts, with few frames, few markers and no times."""
    markers = walk()
    markers[KNOWN - 1 :] += 1.0
    assert not doubts(markers[: KNOWN + 5]).any()
    assert not doubts(walk()[:, :4].repeat(3, axis=1)[:, :5].repeat(3, axis=1)[:, :12]).any()
    identity = Identity(BODY, SHAPE)
    assert not any(identity.look(x, 0.0) for x in markers)


def test_labels_in_disorder_at_first_were_nobodys():
    """Protects what follows labels that are shuffled at first: those that fit the model are right."""
    markers = walk()
    markers[:20] = markers[:20, np.random.default_rng(4).permutation(12)] + [0.0, 0.0, 0.3]
    found = doubts(markers)
    assert not found[:20].any()
    assert not found[26:].any()
    markers[150:] += [0.0, 0.0, 0.7]
    assert doubts(markers)[150:].all()


@pytest.mark.parametrize("turn_deg", [-120.0, 0.0, 60.0, 180.0])
def test_behind_a_gap_nobody_is_where_no_person_can_have_gone(turn_deg):
    """Protects against a person of the same size behind a gap: within 0.3 s nobody gets 0.8 m aside."""
    markers, turn = walk(), np.radians(turn_deg)
    about_up = np.array([[np.cos(turn), 0, -np.sin(turn)], [0, 1, 0], [np.sin(turn), 0, np.cos(turn)]])
    middle = np.array([1.5 * DT * 100, 0.0, 0.0])
    markers[100:] = (markers[100:] - middle) @ about_up.T + middle + 0.8 * about_up[:, 2]
    markers[100:130] = np.nan
    found = doubts(markers, pelvis=1)
    assert not found[:130].any()
    assert found[130:].all()
    assert not doubts(markers)[135:].any()  # distances alone tell nothing


@pytest.mark.parametrize("gap", [10, 30, 60])
@pytest.mark.parametrize("acceleration", [(-8.0, 0.0, 0.0), (0.0, 0.0, 8.0), (5.0, -6.0, 0.0)])
def test_whoever_brakes_or_turns_unseen_is_the_same_person(gap, acceleration):
    """Protects persons who stop, start, turn or fall behind a gap: what weight allows is no leap."""
    markers = walk()
    t = DT * np.arange(N)[:, None, None] - 1.0
    inside, after = np.clip(t, 0.0, DT * gap), np.clip(t - DT * gap, 0.0, None)
    markers += (0.5 * inside**2 + DT * gap * after) * np.array(acceleration)
    markers[100 : 100 + gap] = np.nan
    assert not doubts(markers, pelvis=1)[100 + gap + 3 :].any()


def test_a_wrong_label_behind_a_gap_is_no_other_person():
    """Protects the rest of a recording: one marker of the pelvis that comes back elsewhere is at fault."""
    markers = walk()
    markers[120:, 0] += [0.0, 0.0, 1.0]
    markers[100:120] = np.nan
    markers[120:124, 1:4] = np.nan
    assert not doubts(markers, pelvis=1).any()


@pytest.mark.parametrize("speed", [1.3, 0.0])
def test_frames_in_the_opposite_order_are_in_doubt(speed):
    """Protects against frames played backwards: on a treadmill, and where a foot stands meanwhile."""
    body, foot = np.append(BODY, [4, 4, 4]), np.array([[0.1, 0.0, 0.0], [0.0, 0.0, 0.05], [0.0, 0.05, 0.0]])
    t, shape = DT * np.arange(N)[:, None, None], np.append(SHAPE, foot, axis=0)
    markers = shape + t * np.array([speed, 0.0, 0.0]) + 0.04 * np.sin(9.0 * t) * np.array([1.0, 0.6, 0.8])
    markers[:, 4:] += 0.3 * np.sin(5.0 * t) * np.array([1.0, 0.2, 0.0])
    if speed:
        markers[90:140, 12:] = markers[115, 12:]
    markers[100:130] = markers[100:130][::-1].copy()
    identity = Identity(body, shape, 1)
    found = np.array([identity.look(x, DT) for x in markers])
    assert not found[:100].any()
    assert found[100:130].all()
    assert not found[136:].any()


def test_frames_that_are_lost_leave_no_lasting_doubt():
    """Protects the rest of a recording: a second after lost frames a person in place is the same one."""
    t = DT * np.arange(N + 120)[:, None, None]
    markers = SHAPE + 0.04 * np.sin(9.0 * t) * np.array([1.0, 0.6, 0.8]) + 0.0 * t
    markers = np.delete(markers, slice(100, 130), axis=0)
    found = doubts(markers, pelvis=1)
    assert found[100:190].all()
    assert not found[210:].any()


def walk_at(rate: float, n: int = N, lost_every: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Markers (n, 12, 3) [m] of somebody who goes along X, and times (n,) [s]; one of so many is lost."""
    k = np.arange(2 * n)
    k = k[k % lost_every > 0] if lost_every else k
    times = k[:n] / rate
    t = times[:, None, None]
    skin = 0.002 * np.random.default_rng(1).standard_normal((n, 12, 3))
    return SHAPE + t * np.array([1.3, 0.0, 0.0]) + 0.03 * np.sin(7.0 * t) + skin, times


def scaled(markers: np.ndarray, size: float) -> np.ndarray:
    """The markers of a person of another size in the same place."""
    middle = markers.mean(axis=1, keepdims=True)
    return middle + size * (markers - middle)


@pytest.mark.parametrize("rate", [10.0, 15.0, 20.0])
def test_at_a_low_rate_a_leap_is_seen_and_no_frame_is_a_gap(rate):
    """Protects slow cameras, whose every frame counted as a gap, so that nothing was compared at all."""
    markers, times = walk_at(rate)
    identity = Identity(BODY, SHAPE, 1)
    markers[100:] += [0.0, 0.0, 2.5]
    found = [identity.look(x, dt) for x, dt in zip(markers, np.diff(times, prepend=0.0), strict=True)]
    assert not any(found[:100])
    assert all(found[100:])
    assert (identity.n_break, identity.n_gap) == (1, 0)


@pytest.mark.parametrize("lost_every", [4, 6, 7, 27])
@pytest.mark.parametrize("rate", [15.0, 30.0])
def test_where_frames_are_lost_again_and_again_distances_are_compared(rate, lost_every):
    """Protects streams that lose frames: gaps that follow each other closely hide no other person."""
    markers, times = walk_at(rate, 300, lost_every)
    assert not doubts(markers, times, pelvis=1).any()
    markers[200:] = scaled(markers[200:], 1.08)
    found = doubts(markers, times, pelvis=1)
    assert not found[:200].any()
    assert found[-30:].all()


@pytest.mark.parametrize("hidden", [15, 40])
def test_a_gap_among_the_first_frames_does_not_end_the_comparison(hidden):
    """Protects from later persons after first frames of other distances: what follows those is compared."""
    markers = walk(500)
    markers[:hidden] = scaled(markers[:hidden], 1.07)
    markers[hidden : hidden + 10] = np.nan
    markers[300:310] = np.nan
    assert not doubts(markers).any()
    markers[310:] = scaled(markers[310:], 1.07)
    found = doubts(markers)
    assert not found[:310].any()
    assert found[315:].all()


def test_short_gaps_are_told_from_what_may_be_another_person():
    """Protects the check of the subject, which starts anew for leaps, doubts and long gaps alone."""

    def counted(change) -> tuple[int, int]:
        markers = walk(500)
        change(markers)
        identity = Identity(BODY, SHAPE, 1)
        for x in markers:
            identity.look(x, DT)
        return identity.n_break, identity.n_gap

    def hide(first: int, n: int, size: float = 1.0):
        def change(markers: np.ndarray) -> None:
            markers[first : first + n] = np.nan
            markers[first:] = scaled(markers[first:], size)

        return change

    assert counted(hide(100, 3)) == (0, 0)
    assert counted(hide(100, 20)) == (0, 1)
    assert counted(hide(100, 120)) == (1, 0)
    assert counted(hide(100, 20, 1.08)) == (1, 1)


@pytest.mark.parametrize("hidden", [25, 40])
def test_gaps_with_single_frames_between_them_remain_gaps(hidden):
    """Protects against another person behind the last of many gaps: these are not taken for a low rate."""
    behind = 100 + 14 * (hidden + 1) - 1
    markers = walk(behind + 100)
    for k in range(14):
        markers[100 + k * (hidden + 1) :][:hidden] = np.nan
    assert not doubts(markers, pelvis=1).any()
    markers[behind:] = scaled(markers[behind:], 1.12)
    found = doubts(markers, pelvis=1)
    assert not found[:behind].any()
    assert found[behind + 10 :].all()


@pytest.mark.parametrize("rate", [10.0, 15.0])
def test_at_a_low_rate_single_hidden_frames_are_gaps(rate):
    """Protects slow cameras that often lose all markers: the frames in a row tell the usual time."""
    markers, times = walk_at(rate, 300)
    markers[50:250:3] = np.nan
    identity = Identity(BODY, SHAPE, 1)
    found = [identity.look(x, dt) for x, dt in zip(markers, np.diff(times, prepend=0.0), strict=True)]
    assert not any(found)
    assert (identity.n_break, identity.n_gap) == (0, 67)


def test_labels_that_come_right_behind_a_gap_are_told():
    """Protects the check of the subject, whose result for labels in disorder says nothing of right ones."""
    markers = walk()
    markers[:100] = markers[:100, np.random.default_rng(4).permutation(12)]
    markers[100:120] = np.nan
    identity = Identity(BODY, SHAPE)
    assert not any(identity.look(x, DT) for x in markers)
    assert (identity.n_break, identity.n_gap) == (1, 1)
