"""`rtsim bench mutation`: what a mutant is, that draws are those of the seed, and that verdicts are right."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from benchmarks.mutation import run
from benchmarks.mutation.mutants import OPERATORS, find_mutants
from benchmarks.mutation.rooms import ROOMS, MutatedRoom, files_of_tests, modules_of
from benchmarks.mutation.summary import MutantVerdict, MutationOutcome, wilson_interval
from benchmarks.mutation.survivors import KnownSurvivors
from benchmarks.mutation.tree import MutatedTree
from rtsim.errors import ConfigError

ROOT = Path(__file__).resolve().parents[3]
SOURCE = '''"""Twice 1 + 1 is no place."""

from typing import Annotated

LIMIT = 3


def clipped(x: "Annotated[int, 4]", rows) -> int:
    """Not 1 < 2 either."""
    if x < LIMIT and not rows:
        raise ValueError(f"{x + 1} is wrong")
    é = rows[0] + rows[x, 2]
    é += 0.5
    for k in range(x):
        é = max(-x, é * k)
    return é if x else 0
'''


def test_every_operator_has_its_mutants() -> None:
    """Protects the draw: each operator is found where it stands, behind letters of two bytes as well."""
    found = {(m.operator, m.line, m.before, m.after) for m in find_mutants("a.py", SOURCE)}
    assert {operator for operator, *_ in found} == set(OPERATORS)
    for expected in (
        ("comparison", 10, "<", "<="), ("comparison", 10, "<", ">"),
        ("condition", 10, "not rows", "bool(rows)"),
        ("condition", 10, "x < LIMIT and not rows", "False"), ("condition", 10, "x < LIMIT", "True"),
        ("index", 12, "0", "1"), ("index", 12, "x, 2", "2, x"), ("arithmetic", 12, "+", "-"),
        ("arithmetic", 13, "+=", "-="), ("constant", 13, "0.5", "1.0"), ("index", 14, "x", "(x) - 1"),
        ("extreme", 15, "max", "min"), ("sign", 15, "-x", "(x)"), ("arithmetic", 15, "*", "/"),
        ("condition", 16, "x", "True"), ("constant", 5, "3", "4"),
    ):  # fmt: skip
        assert expected in found, expected


def test_a_mutant_is_one_change_that_python_reads() -> None:
    """Protects the score from mutants that fail for being no program, and from changes of words alone."""
    whole = ast.dump(ast.parse(SOURCE))
    for mutant in find_mutants("a.py", SOURCE):
        text = mutant.applied(SOURCE)
        assert ast.dump(ast.parse(text)) != whole
        assert mutant.line not in (1, 8, 9, 11)
        assert mutant.lines(SOURCE)[0] == " ".join(SOURCE.splitlines()[mutant.line - 1].split())


@pytest.mark.parametrize("name", list(ROOMS))
def test_every_room_has_modules_and_tests(name: str) -> None:
    """Protects the map of tests: each module of a room has some, and those with its name come first."""
    modules = modules_of(ROOT, ROOMS[name])
    assert modules
    for module in modules:
        nearby, beyond = files_of_tests(ROOT, ROOMS[name], module)
        assert nearby
        assert not set(nearby) & set(beyond)
        alike = [path for path in nearby if Path(path).stem == f"test_{Path(module).stem}"]
        assert nearby[: len(alike)] == alike


def test_a_seed_draws_the_same() -> None:
    """Protects whoever repeats a run: the same seed has the same mutants in the same order."""
    room = ROOMS["exchange"]
    first = run.draw(ROOT, room, 12, 4)
    assert first == run.draw(ROOT, room, 12, 4)
    assert first[:5] == run.draw(ROOT, room, 12, 4)[:5]
    assert first != run.draw(ROOT, room, 12, 5)
    assert len(set(first)) == 12


@pytest.mark.process
def test_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the score: what a test notices is killed, what none does survives, endless loops time out."""
    root = tmp_path / "checkout"
    (root / "kernels").mkdir(parents=True)
    (root / "tests").mkdir()
    text = "def half(x):\n    k = 0\n    while k < 3:\n        k += 1\n    return x / 2 if x < 7 else x\n"
    (root / "kernels" / "__init__.py").touch()
    (root / "kernels" / "room.py").write_text(text, encoding="utf-8")
    test = "from kernels.room import half\n\n\ndef test_half():\n    assert half(4) == 2\n"
    (root / "tests" / "test_room.py").write_text(test, encoding="utf-8")
    room = MutatedRoom(("kernels/*.py",), ("tests/test_*.py",))
    mutants = {(m.before, m.after): m for m in find_mutants("kernels/room.py", text)}
    monkeypatch.setattr(run, "LEAST_CPU_S", 4.0)
    monkeypatch.setattr(run, "WALL_TIMES", 200.0)
    monkeypatch.setenv("PYTEST_ADDOPTS", "--an-option-of-this-checkout")
    with MutatedTree(root) as tree:
        assert run.unchanged_cpu_s(tree, "room", room) > 0.0
        for change, expected in (
            (("/", "*"), MutantVerdict.KILLED), (("7", "8"), MutantVerdict.SURVIVED),
            (("+=", "-="), MutantVerdict.TIMED_OUT),
        ):  # fmt: skip
            assert run.judge(tree, room, 0.0, mutants[change], nearby=True) == expected
        assert (tree.root / "kernels" / "room.py").read_text(encoding="utf-8") == text
    assert (root / "kernels" / "room.py").read_text(encoding="utf-8") == text
    assert not tree.root.exists()


def test_tests_that_fail_unchanged_are_told(tmp_path: Path) -> None:
    """Protects the score: where tests fail anyway, every mutant would count as killed."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "room.py").write_text("LIMIT = 1\n", encoding="utf-8")
    (tmp_path / "tests" / "test_room.py").write_text("def test():\n    assert 0\n", encoding="utf-8")
    with MutatedTree(tmp_path) as tree, pytest.raises(ConfigError, match=r"changed: FAILED.*::test"):
        run.unchanged_cpu_s(tree, "room", MutatedRoom(("kernels/*.py",), ("tests/test_*.py",)))


def test_a_room_that_there_is_not() -> None:
    """Protects who mistypes a room: a sentence with all of them."""
    with pytest.raises(ConfigError, match=r"no package 'kitchen'.*solver"):
        run.run(["kitchen"], 1, 0)


def test_the_interval_is_that_of_wilson() -> None:
    """Protects the interval: figures of Newcombe (1998, table I), the score method without correction."""
    for r, n, low, high in (
        (81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718),
    ):  # fmt: skip
        assert wilson_interval(r, n) == pytest.approx((low, high), abs=5e-5)
    assert wilson_interval(0, 0) == (0.0, 1.0)


def test_survivors_with_a_reason_count_neither_way() -> None:
    """Protects the score: equivalent mutants are left out of it, those without a reason are not."""
    (mutant, *_) = find_mutants("a.py", SOURCE)
    outcome = MutationOutcome(0)
    for verdict, reason in (
        (MutantVerdict.KILLED, ""), (MutantVerdict.TIMED_OUT, ""), (MutantVerdict.SURVIVED, ""),
        (MutantVerdict.SURVIVED, "the same"),
        (MutantVerdict.KILLED, "thought to be the same"),
    ):  # fmt: skip
        outcome.add("room", mutant, verdict, reason)
    figures = {figure.name: figure.value for figure in outcome.figures()}
    assert figures["room.drawn"] == 5
    assert figures["room.equivalent"] == 1
    assert figures["room.score"] == 75.0
    assert len(outcome.survivors()) == 2


def test_listed_survivors_are_mutants_of_the_sources() -> None:
    """Protects the list: each row is a line that stands there and a mutant of it, with a reason."""
    rows = KnownSurvivors.read().rows
    assert len({row[:3] for row in rows}) == len(rows)
    for row in rows:
        source = (ROOT / row.module).read_text(encoding="utf-8")
        assert (row.line, row.mutated) in {m.lines(source) for m in find_mutants(row.module, source)}, row
        assert len(row.reason) > 20
