"""Studies that are solved in a moment: a ball that strikes a surface, without a person or a recording."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from rtsim.studies.plan import StudyPlan, plan_of
from tests.rtsim.studies.impacts import impacts

IMPACT = (
    "seed = 3\n"
    + impacts(step=(0.08, 0.16), mass=(0.5, 0.6, -1.0), friction=(0.2, 0.3))
    + """
[[results]]
name = "when"
column = "contact_normal_forces.floor"
take = "time_to"
threshold = 1000.0
[curves]
columns = ["contact_normal_forces.floor"]
points = 11
"""
)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study of twelve impacts, four of which have a mass that the schema refuses."""
    path = tmp_path / "impacts.toml"
    path.write_text(IMPACT)
    return path


@pytest.fixture
def plan(tmp_path: Path) -> StudyPlan:
    """The plan of that study."""
    return plan_of(IMPACT, str(tmp_path), "impacts.toml")


@pytest.fixture
def here_run(tmp_path: Path):
    """A function: the table (column -> values) that `rtsim analyse` writes with these arguments."""
    from click.testing import CliRunner

    from rtsim.cli.main import cli

    def run(*arguments: str) -> dict[str, np.ndarray]:
        path = tmp_path / "analysed.csv"
        done = CliRunner().invoke(cli, ["analyse", *arguments, "--out", str(path)])
        assert done.exit_code == 0, done.output
        with path.open() as file:
            names = next(csv.reader(file))
            rows = np.array([[float(x or "nan") for x in row] for row in csv.reader(file)])
        return dict(zip(names, rows.T, strict=True))

    return run
