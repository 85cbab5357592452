"""Which cases a run takes, and that each can be repeated."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.damage.cases import (
    N_SEED,
    QUICK_ROUNDS,
    DamageCase,
    Plan,
    full_cases,
    parse_case,
    quick_cases,
)
from benchmarks.damage.kinds import find_kinds
from benchmarks.damage.persons import N_PART
from rtsim.errors import ConfigError

PLAN = Plan(
    ("walker", *(f"{k}.trc" for k in range(9))),
    ("right", "left", "both"),
    ("zero", "hinge"),
    ("spike", "flicker", "quantised", "all_missing"),
)


class OfRightLegs:
    """A workshop in which the walker has a right leg alone, and 8.trc cannot be used."""

    def person(self, recording: str, side: str) -> object:
        usable = recording != "8.trc" and (recording != "walker" or side == "right")
        return object() if usable else None


def test_a_quick_run_is_even_over_classes_recordings_sides_and_methods():
    cases = list(quick_cases(OfRightLegs(), PLAN))
    assert cases == list(quick_cases(OfRightLegs(), PLAN))
    assert len(cases) == len(set(cases)) == QUICK_ROUNDS * 4
    assert set(Counter(case.kind for case in cases).values()) == {QUICK_ROUNDS}
    for kind in PLAN.kinds:
        places = Counter(case[:3] for case in cases if case.kind == kind)
        assert len(places) == 18  # nine recordings by two methods
        assert max(places.values()) - min(places.values()) <= 2
    assert {case.side for case in cases} == {"right", "left", "both"}
    assert not any(case.recording == "8.trc" for case in cases)
    parts = Counter((case[:3], case.seed % N_PART) for case in cases)
    assert len(parts) == 18  # one clean run beside each is enough


def test_a_quick_run_of_nothing_has_no_cases():
    assert list(quick_cases(OfRightLegs(), PLAN._replace(recordings=("8.trc",)))) == []


def test_a_full_run_has_everything_with_all_seeds():
    cases = list(full_cases(PLAN))
    assert len(cases) == len(set(cases)) == 10 * 3 * 2 * 4 * N_SEED
    assert {case.seed for case in cases} == set(range(N_SEED))
    assert N_SEED >= 20


def test_a_case_is_repeated_by_its_words():
    case = DamageCase("a/b:c.trc", "both", "zero", "spike", 17)
    assert parse_case(str(case), PLAN.kinds) == case
    for words in ("a.trc:both:zero:spike", "a.trc:both:zero:spike:x", "a.trc:both:zero:nothing:1"):
        with pytest.raises(ConfigError, match="is not the name of a case"):
            parse_case(words, PLAN.kinds)


def test_the_classes_are_in_the_documents():
    """Protects docs/damage.md: every class is told there in the words of its function."""
    text = (Path(__file__).parents[4] / "docs" / "damage.md").read_text(encoding="utf-8")
    for kind in find_kinds().values():
        assert f"| `{kind.name}` | {kind.damage.__doc__.strip().rstrip('.')} |" in text
