"""The kernel that every bench times in its own run: what it solves, that it stays, that all print it."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import pkgutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import benchmarks
import rtsim.bench
from rtsim.bench import reference
from rtsim.bench.figures import BenchFigure
from rtsim.cli.commands.bench import command
from rtsim.cli.main import cli

OWN = BenchFigure("own", 1.0, "1")
SOURCES = {
    "cholesky-24, version 1": "1f432c18ecd9b2aa6a6a926832051870249cdafc0d9f1b56f7fe577b2c4fc9bf",
}
"""Hash of kernel, data and size of each version: a change needs a version of its own, and a line here."""


def test_what_is_timed() -> None:
    """Protects the meaning of reference_us: each solve is x <- A^-1 (b + x / 2), to rounding."""
    A, b = reference.problem()
    x, L = np.zeros_like(b), np.zeros_like(A)
    expected = np.zeros_like(b)
    for n_solve in (1, 2, 5):
        reference.repeat_solve(A, b, L, x, n_solve)
        for _ in range(n_solve):
            expected = np.linalg.solve(A, b + 0.5 * expected)
        np.testing.assert_allclose(x, expected, rtol=1e-13, atol=1e-14)


def test_the_kernel_never_changes() -> None:
    """Protects comparisons over years: another kernel, other data or another size have another version."""
    kernel = getattr(reference.repeat_solve, "py_func", reference.repeat_solve)
    text = inspect.getsource(kernel) + inspect.getsource(reference.problem) + str(reference.SIZE)
    assert SOURCES[reference.VERSION] == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("name", sorted(set(command.commands) - {"replay"}))  # which measures nothing
@pytest.mark.parametrize("as_json", [False, True])
def test_every_bench_prints_it(
    name: str, as_json: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Protects figures of different machines: each bench, as table and as JSON, gives reference_us."""
    module = importlib.import_module(module_of(name))
    monkeypatch.setattr(module, "run", measured(name))
    if name in ("soak", "fuzz"):  # whose figures are made from what was found
        monkeypatch.setattr(module, "figures" if name == "soak" else "totals", lambda _: [OWN])
    places = ("ground-reaction", "trials", "recordings", "unnamed-markers", "gait-events")
    folder = [str(tmp_path)] if name in places else []
    if name == "report":
        (tmp_path / "walk.mcap").touch()
        folder = [str(tmp_path / "walk.mcap")]
    done = CliRunner().invoke(cli, ["bench", name, *folder, *(["--json"] if as_json else [])])
    assert done.exit_code == 0, done.output
    if as_json:
        document = json.loads(done.stdout)
        assert document["machine"]["reference"] == reference.VERSION
        values = {figure["name"]: figure["value"] for figure in document["figures"]}
    else:
        assert reference.VERSION in done.stdout
        rows = (line.split() for line in done.stdout.splitlines())
        values = {row[0]: float(row[1]) for row in rows if row and row[0].startswith("reference_us")}
    assert 0.0 < values["reference_us.least"] <= values["reference_us"]


def module_of(name: str) -> str:
    """The module of a bench, in whichever room it stands."""
    stem = "gait_report" if name == "report" else name.replace("-", "_")
    places = {
        module.name
        for package in (rtsim.bench, benchmarks)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    }
    rooms = places & {f"benchmarks.{stem}.run", f"rtsim.bench.{stem}.run"}
    if rooms:
        return rooms.pop()
    (place,) = (
        place
        for place in places
        if place.endswith(f".{stem}") and f"{place}.{stem}" not in places and ".fuzz." not in place
    )
    return place


def measured(name: str) -> Callable[..., object]:
    """What stands for a bench's own work, which takes minutes."""
    figures = [OWN]
    done = SimpleNamespace(
        left_out={}, figures=lambda: figures, worst=lambda n: (), interrupted=False, survivors=lambda: (),
        faults=lambda: (), troubles=(), kills=range(300), findings=(),
    )  # fmt: skip
    if name in ("damage", "faults", "kills", "mutation", "soak"):
        return lambda *_, **__: done
    if name == "fuzz":
        return lambda *_, **__: [done]
    return lambda *_, **__: (figures, "| table |") if name == "trials" else figures
