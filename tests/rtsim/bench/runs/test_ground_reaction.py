"""The bench of the ground without plates: what is asked for has a limit, and an empty folder is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtsim.bench.runs.ground_reaction import ASKED, SHOWN, TOTAL, figures_of, run
from rtsim.errors import ConfigError


@pytest.mark.parametrize(("name", "limit"), [(ASKED[0], TOTAL), (SHOWN[0], None)])
def test_only_what_is_asked_for_has_a_limit(name: str, limit: float | None) -> None:
    """Protects the verdict: the total of what is asked for, a foot not seen is left out."""
    off = {"frames": 10, "rms": 0.05, "most": 0.1}
    reaction = {"total": off, "feet": {"right": off, "left": None}, "share": off, "along": {"right": off}}
    figures = figures_of(name, {"reaction": reaction, "peaks": {"knee extensors": {"value": 0.5}}})
    assert [figure.name.removesuffix(f".{name}") for figure in figures] == [
        "total", "right_foot", "share", "centre_along.right", "knee_extensors",
    ]  # fmt: skip
    assert (figures[0].value, figures[0].limit) == (0.05, limit)
    assert figures[3].value == pytest.approx(50.0)


def test_a_folder_without_recordings_is_refused(tmp_path: Path) -> None:
    """Protects a mistyped folder: one sentence, and no figures of nothing."""
    with pytest.raises(ConfigError, match="none of the recordings was found"):
        run(tmp_path)
