"""Names for the walker's markers, taken away."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.labelling import segment_search
from rtsim.labelling.body import MarkedBody
from rtsim.labelling.labeller import Labeller
from rtsim.labelling.person_search import FoundPerson, find_person

Array = NDArray[np.float64]
Both = tuple[MarkedBody, tuple[str, ...]]


def test_all_are_named_and_certain_soon(walked: Array, name_frames: Callable[..., Any]) -> None:
    """Protects the start: every marker is right, in doubt at first and certain in half a second."""
    named = name_frames(walked)
    assert (named.right == walked.shape[1]).all()
    assert named.doubted[0]
    assert not any(named.doubted[50:])


def test_strangers_are_left_alone(walked: Array, name_frames: Callable[..., Any]) -> None:
    """Protects from points of nobody: reflections that come and go, and arms that swing."""
    generator = np.random.default_rng(5)
    strangers = generator.uniform([-0.6, 0.0, -0.6], [0.6, 1.8, 0.6], (len(walked), 12, 3))
    swing = 0.3 * np.sin(0.06 * np.arange(len(walked)))
    strangers[:, :6] = strangers[0, :6] + np.stack([swing, 0 * swing, 0 * swing], axis=1)[:, None]
    named = name_frames(walked, strangers)
    assert named.wrong.sum() == 0
    assert (named.right == walked.shape[1]).mean() > 0.99


def test_markers_come_back_by_their_names(
    walked: Array, both_legs: Both, name_frames: Callable[..., Any]
) -> None:
    """Protects gaps: one marker, a whole shank, everything; nothing is wrong, and all are named again."""
    frames, names = walked.copy(), both_legs[1]
    frames[60:80, names.index("RKNE")] = np.nan
    shank = both_legs[0].segment_of == both_legs[0].segment_of[names.index("RTTB")]
    frames[90:110, shank] = np.nan
    frames[130:160] = np.nan
    named = name_frames(frames)
    assert named.wrong.sum() == 0
    seen = np.isfinite(frames[:, :, 0]).any(axis=1)
    assert (named.missing[seen] == 0).mean() > 0.97
    assert named.missing[-1] == 0


def test_a_hand_that_passes_is_no_hidden_marker(
    walked: Array, both_legs: Both, name_frames: Callable[..., Any]
) -> None:
    """Protects from a stranger that comes from elsewhere to where a marker is hidden."""
    frames = walked.copy()
    k = both_legs[1].index("RGTR")
    true = frames[:, k].copy()
    frames[80:130, k] = np.nan
    away = (np.arange(len(frames)) - 105)[:, None] * np.array([0.012, 0.004, 0.002])
    named = name_frames(frames, (true + away + [0.0, 0.012, 0.006])[:, None])
    assert named.wrong.sum() == 0


def test_a_marker_that_is_named_stays(walked: Array, both_legs: Both) -> None:
    """Protects names that were sent: they are not touched, and help to find the others."""
    labeller = Labeller(both_legs[0])
    known = [both_legs[1].index(name) for name in ("RASI", "LASI", "RPSI")]
    for k, frame in enumerate(walked[:40]):
        markers = np.full(frame.shape, np.nan)
        markers[known] = frame[known]
        rest = np.delete(frame, known, axis=0)
        labeller.label(markers, rest, 0.01 if k else 0.0)
        np.testing.assert_array_equal(markers, frame)


@pytest.mark.parametrize("kind", ["nobody", "few", "child", "empty"])
def test_nobody_is_found_where_nobody_is(walked: Array, name_frames: Callable[..., Any], kind: str) -> None:
    """Protects from names for what is not there: noise, too few points, a person of two thirds the size."""
    frames = walked[:60].copy()
    if kind == "nobody":
        frames = np.random.default_rng(2).uniform(-1.0, 1.0, frames.shape)
    elif kind == "few":
        frames[:, 6:] = np.nan
    elif kind == "child":
        frames *= 0.67
    else:
        frames[:] = np.nan
    named = name_frames(frames)
    assert all(named.doubted)
    if kind != "child":
        assert named.right.sum() + named.wrong.sum() == 0


def test_frames_without_time_and_sent_again(walked: Array, both_legs: Both) -> None:
    """Protects the loop from streams whose clock stands still, or that leap: no error, and nothing wrong."""
    labeller = Labeller(both_legs[0])
    for k, dt in enumerate([0.0, 0.0, 0.01, 0.0, 0.01, 5.0, 0.01, 1e-9, 0.01]):
        markers = np.full(walked[0].shape, np.nan)
        labeller.label(markers, walked[k], dt)
        got = np.isfinite(markers[:, 0])
        np.testing.assert_array_equal(markers[got], walked[k][got])


def test_a_search_goes_on_over_frames(walked: Array, both_legs: Both) -> None:
    """Protects the loop: a search is spread over frames by the time between them, and is right at its end."""
    generator, first = np.random.default_rng(6), {}
    for step in (0.002, 0.01):
        labeller = Labeller(both_legs[0], paced=True)
        for k, frame in enumerate(walked):
            markers = np.full(frame.shape, np.nan)
            labeller.label(markers, generator.permutation(frame), step)
            got = np.isfinite(markers[:, 0])
            np.testing.assert_array_equal(markers[got], frame[got])
            if got.all():
                first.setdefault(step, k)
        assert not labeller.doubted
    assert 3 < first[0.002] < 60
    assert first[0.01] < first[0.002] / 2


def test_no_search_is_made_in_one_frame(
    walked: Array, both_legs: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the pace of frames: the search for a segment that was lost goes on over frames, too."""
    fits, fit_all = [0], segment_search.fit_all

    def counted(*arguments: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        fits[-1] += 1
        return fit_all(*arguments)

    monkeypatch.setattr(segment_search, "fit_all", counted)
    frames, names = walked.copy(), both_legs[1]
    lost = both_legs[0].segment_of == both_legs[0].segment_of[names.index("RTTB")]
    frames[50:90, lost] = np.nan
    scattered = np.random.default_rng(4).uniform(-1.0, 1.0, (len(frames), 6, 3))
    labeller = Labeller(both_legs[0], paced=True)
    for frame, points in zip(frames, scattered, strict=True):
        markers = np.full(frame.shape, np.nan)
        seen = frame[np.isfinite(frame[:, 0])]
        fits.append(0)
        labeller.label(markers, np.vstack([points, seen]), 0.01)
    alone = next(k for k, n in enumerate(fits) if not n and k > 1)
    assert labeller.n_regained >= lost.sum()
    assert np.isfinite(markers[:, 0]).all()
    assert max(fits[alone:]) <= 2 * 2 * 2, "two fits a step, two steps a search, one search after another"


def test_searches_rest_while_the_loop_is_behind(
    walked: Array, both_legs: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects a loop on a busy machine: frames that lie there are worked on before names are sought."""
    fits, fit_all = [0], segment_search.fit_all

    def counted(*arguments: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        fits[-1] += 1
        return fit_all(*arguments)

    monkeypatch.setattr(segment_search, "fit_all", counted)
    labeller, n_alone = Labeller(both_legs[0], paced=True), 0
    for frame in np.concatenate([walked, walked[::-1], walked]):
        n_alone += not labeller.following
        fits.append(0)
        markers = np.full(frame.shape, np.nan)
        labeller.label(markers, frame, 0.01, waited=0.02)
    searched = np.flatnonzero(fits[1 + n_alone :])
    assert max(fits) <= 2, "two fits a step, one step a frame"
    assert 3 < n_alone < 60, "nobody is known: no result waits"
    assert len(searched) > 10, "searches go on"
    assert np.diff(searched).min() > 10


def test_names_are_compared_in_the_frame_of_the_search(
    walked: Array, both_legs: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects names from a worse naming that still saw markers which were hidden before its search ended."""
    body, names = both_legs
    k, hidden = names.index("RTH2"), [names.index(name) for name in ("RTTB", "LTH1", "LTTB")]
    stranger = walked[:, k] + [0.02, 0.015, 0.0]

    def worse(
        _: MarkedBody, points: Array, given: NDArray[np.int64], *__: Array
    ) -> Generator[None, None, FoundPerson | None]:
        found = find_person(body, points, given)
        assert found is not None
        found.points[k] = np.linalg.norm(
            points - points[found.points[k]] - [0.02, 0.015, 0.0], axis=1
        ).argmin()
        for _ in range(20):
            yield
        return found._replace(disputed=np.zeros(len(names), bool))

    labeller = Labeller(body, paced=True)
    for frame, other in zip(walked[:40], stranger, strict=False):
        shown = frame.copy()
        if labeller.following:
            monkeypatch.setattr("rtsim.labelling.labeller.search_person", worse)
        if labeller.n_search > 1:
            shown[hidden] = np.nan
        markers = np.full(frame.shape, np.nan)
        labeller.label(markers, np.vstack([other, shown[np.isfinite(shown[:, 0])]]), 0.01)
        if labeller.following:
            np.testing.assert_array_equal(markers, shown)
    assert labeller.n_search > 2, "a search ended while the markers were hidden"


def test_a_marker_that_skin_has_moved_is_named_once_in_place(
    walked: Array, both_legs: Both, name_frames: Callable[..., Any]
) -> None:
    """Protects a marker that comes up beyond its reach, as in a squat: named 0.3 s after it is in place."""
    frames, k = walked.copy(), both_legs[1].index("RTH2")
    frames[60:80, k] = np.nan
    frames[80:95, k] += np.linspace(0.055, 0.0, 15)[:, None] * np.array([0.8, 0.6, 0.0])
    named = name_frames(frames)
    assert named.wrong.sum() == 0
    assert named.missing[80] == 1
    assert named.missing[125] == 0


def test_a_stranger_that_comes_back_is_no_hidden_marker(
    walked: Array, both_legs: Both, name_frames: Callable[..., Any]
) -> None:
    """Protects from a point fixed 25 mm beside a marker, both hidden, that is seen again before that."""
    frames, k = walked.copy(), both_legs[1].index("RTH2")
    stranger = frames[:, k] + [0.02, 0.015, 0.0]
    frames[80:120, k] = np.nan
    stranger[80:90] = np.nan
    named = name_frames(frames, stranger[:, None])
    wrong_at = np.flatnonzero(named.wrong)
    assert all(named.doubted[f] for f in wrong_at)
    assert len(wrong_at) == 0


def test_searches_in_vain_become_seldom(walked: Array, both_legs: Both) -> None:
    """Protects the loop from a stream of somebody else: a search takes longer than a frame."""
    labeller = Labeller(both_legs[0])
    scattered = np.random.default_rng(4).uniform(-1.0, 1.0, walked[0].shape)
    for k in range(1000):
        labeller.label(np.full(scattered.shape, np.nan), scattered + 0.001 * k, 0.01)
    assert labeller.n_search <= 8
