"""How far a bench is: lines in a log, a bar in a terminal, and benches that are quick."""

from __future__ import annotations

import io
import json
import re

import pytest
from click.testing import CliRunner
from rich.console import Console

from rtsim.bench.figures import BenchFigure
from rtsim.bench.progress import BenchProgress, counted, duration
from rtsim.cli.main import cli


class Clock:
    """A clock that goes on by two seconds a look."""

    def __init__(self) -> None:
        self.t = 0.0

    def __call__(self) -> float:
        self.t += 2.0
        return self.t


def test_a_log_has_a_line_a_tenth_with_the_time_left() -> None:
    """Protects logs from a line for each part, and their reader from names alone."""
    log = io.StringIO()
    with BenchProgress("tune", 50, Console(file=log, width=30), Clock()) as course:
        for k in range(50):
            course.begin(f"part {k}")
    lines = log.getvalue().splitlines()
    assert lines[0] == "tune: 0 of 50, part 0"
    assert [line.split(",")[0] for line in lines] == [f"tune: {k} of 50" for k in range(0, 50, 5)]
    assert all(re.fullmatch(r"tune: \d+ of 50, part \d+; about \d+ s left", line) for line in lines[1:])


def test_a_terminal_has_a_bar_that_goes() -> None:
    """Protects who watches: the bar is told the parts that are done, and is gone at the end."""
    screen = io.StringIO()
    console = Console(file=screen, width=80, force_terminal=True)
    assert list(counted("grid", iter("abc"), 3, console)) == ["a", "b", "c"]
    assert "grid: 3 of 3" in screen.getvalue()
    assert screen.getvalue().count("\n") < 5


def test_a_bench_that_fails_leaves_the_terminal_as_it_was() -> None:
    """Protects the terminal after Ctrl-C or a failure: the cursor is shown again."""
    screen = io.StringIO()

    def interrupted() -> None:
        with BenchProgress("grid", 3, Console(file=screen, width=80, force_terminal=True)) as course:
            course.begin()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert "\x1b[?25h" in screen.getvalue()


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0 s"), (59.0, "59 s"), (480.0, "8 min")])
def test_times_are_told_in_a_word(seconds: float, words: str) -> None:
    """Protects from 512.3 s."""
    assert duration(seconds) == words


def test_a_quick_bench_of_friction_has_one_law() -> None:
    """Protects the first look at a bench on a slow machine: a part of it, told as it goes."""
    done = CliRunner().invoke(cli, ["bench", "friction", "--quick", "--json"])
    assert done.exit_code == 0, done.output
    figures = {one["name"]: one for one in json.loads(done.stdout)["figures"]}
    laws = {name.split(".")[2] for name in figures if name.startswith("max_error.")}
    assert laws == {"brown_mcphee"}
    assert figures["max_error.impact.brown_mcphee.veldd4.split.160us"]["value"] <= 1e-6
    assert "friction: 0 of 15, stick_slip, brown_mcphee" in done.stderr


def test_a_quick_bench_of_tuning_is_small(monkeypatch) -> None:
    """Protects the same of tuning: few searches, no splines, nothing held against what they cannot reach."""
    from rtsim.bench.runs import tune

    asked = {}
    monkeypatch.setattr(
        tune, "run", lambda **options: asked.update(options) or [BenchFigure("a", 1.0, "%", 2.0)]
    )
    done = CliRunner().invoke(cli, ["bench", "tune", "--quick", "--json"])
    assert done.exit_code == 0, done.output
    assert asked["n_spline_seed"] == 0
    assert asked["n_node"] ** 2 * 2 + asked["budget"] * asked["n_seed"] * 6 < 1000
    assert "limit" not in json.loads(done.stdout)["figures"][0]
