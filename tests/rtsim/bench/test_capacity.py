"""The search for what is held, with tries of a made-up machine, and what is said to limit it."""

from __future__ import annotations

import pytest

from benchmarks.soak.capacity import NEAR, SEGMENTS, CapacityTry, limiting, search, with_markers
from rtsim.subjects.subject import load_subject


def machine(most: float, disturbed: tuple[int, ...] = ()):
    """A machine that holds rates up to `most`, but for disturbed tries; its tries."""
    tries: list[float] = []

    def tried(rate: float) -> CapacityTry:
        tries.append(rate)
        holds = rate <= most and len(tries) not in disturbed
        return CapacityTry(rate, 17, holds, "solving", 90.0, 0.0, 0, 1.0)

    return tried, tries


def sought(tried, most_tried: float = 10_000.0) -> tuple[float, CapacityTry | None]:
    return search(tried, 200.0, most_tried, lambda one: one.rate)


@pytest.mark.parametrize("most", [200.0, 333.0, 1234.5, 7000.0])
def test_the_search_ends_near_the_truth(most):
    """Protects the figure: what is held is held, what failed fails, and they are near each other."""
    held, failed = sought(machine(most)[0])
    assert failed is not None
    assert held <= most < failed.rate <= NEAR * held


def test_one_disturbed_try_does_not_count():
    """Protects a figure from a machine that others use: what fails is tried once more."""
    assert sought(machine(1000.0, disturbed=(1,))[0])[0] > 900.0


def test_ends_of_the_search_are_told_as_they_are():
    """Protects against a figure that nobody measured: nothing held, or nothing that fails."""
    held, failed = sought(machine(50.0)[0])
    assert held == 0.0
    assert failed is not None
    held, failed = sought(machine(1e9)[0])
    assert (held, failed) == (10_000.0, None)


def test_what_limits_is_named():
    """Protects who wants more: a full processor, a source that cannot, a lossy connection, others."""
    slow = {"receive_to_solve_us.p50": 900.0, "publish_us.p50": 50.0}
    assert limiting(97.0, 0.0, {}, slow, 10.0) == ("the estimator's processor: solving", 97.0)
    assert limiting(97.0, 0.0, {}, {"publish_us.p50": 50.0}, 10.0)[0].endswith("publishing")
    assert limiting(30.0, 4.0, {}, slow, 10.0) == ("the source of markers, which sends late", 4.0)
    assert limiting(30.0, 0.0, {"lost": 1}, slow, 10.0)[0] == "the connection to the estimator"
    assert limiting(30.0, 0.0, {}, slow, 99.0) == ("the processors: processes wait for them", 99.0)


@pytest.mark.parametrize("n", [17, 18, 300])
def test_a_subject_has_as_many_markers_as_asked_for(tmp_path, n):
    """Protects the axis of the search: so many markers, spread over all segments."""
    subject = load_subject(with_markers(tmp_path, n))
    counts = [len(subject.segments[name].markers_mm) for name in SEGMENTS]
    assert sum(counts) == n
    if n == 300:
        assert min(counts) > 70
