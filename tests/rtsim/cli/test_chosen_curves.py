"""`--curves`: figures of what was asked for, pages told of one by one, and mistakes told before the run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("pyqtgraph")


def texts_of(path: Path) -> set[str]:
    """All texts of an SVG file."""
    root = ElementTree.parse(path).getroot()
    return {"".join(element.itertext()).strip() for element in root.iter() if element.tag.endswith("text")}


def test_a_figure_has_the_curves_that_were_chosen(here: Callable, tmp_path: Path) -> None:
    """Protects the choice: what is named is drawn and nothing else, and nothing is called left out."""
    done = here("analyse", "walker", "--side", "both", "--plot", "a.svg", "--curves", "knee_flexion,pelvis")
    assert done.code == 0, done.err
    titles = {text for text in texts_of(tmp_path / "a.svg") if text.endswith("[deg]")}
    names = ("Knee flexion", "Pelvis anterior tilt", "Pelvis obliquity", "Pelvis rotation")
    assert titles == {f"{name} [deg]" for name in names}
    assert "not drawn" not in done.err


def test_pages_are_told_of_and_so_are_old_ones(here: Callable, tmp_path: Path) -> None:
    """Protects from mixing figures: each file is named, and one that an earlier figure left is, too."""
    (tmp_path / "a-3.png").write_bytes(b"")
    done = here("analyse", "walker", "--side", "both", "--plot", "a.png")
    wrote = [line for line in done.err.splitlines() if line.startswith("wrote")]
    assert wrote == ["wrote a.png", "wrote a-2.png"]
    assert "a-3.png is not a page of this figure" in done.err
    assert "a.png: not drawn, because --curves does not name them: contact_points" in done.err


def test_a_wrong_name_is_told_before_anything_is_solved(here: Callable, tmp_path: Path) -> None:
    """Protects long runs: the name and the nearest ones are told, nothing is written."""
    done = here("analyse", "walker", "--plot", "a.png", "--out", "a.mcap", "--curves", "knee_flexoin")
    assert done.code == 1
    assert "--curves: 'knee_flexoin' is not the name of a curve or of a" in done.sentence
    assert "knee_flexion" in done.sentence
    assert not list(tmp_path.glob("a*"))
    done = here("analyse", "walker", "--curves", "knee")
    assert done.code == 1
    assert "add --plot FILE" in done.sentence
    for words in (("analyse", "walker", "--plot", "a.png"), ("export", "walk.mcap", "a.png")):
        assert "--curves: no curve is named" in here(*words, "--curves", " , ").sentence


def test_curves_of_a_recording(here: Callable, tmp_path: Path) -> None:
    """Protects `export --curves`: results that were recorded are drawn."""
    assert here("analyse", "walker", "--side", "both", "--out", "walk.mcap").code == 0
    done = here("export", "walk.mcap", "b.svg", "--curves", "ligaments,hip_flexion_l")
    assert done.code == 0, done.err
    texts = texts_of(tmp_path / "b.svg")
    assert {"ACL lengthening [1]", "Hip flexion [deg]", "walk.mcap: minimised, both legs"} <= texts
    for words in (("c.svg", "--curves", "angles", "--view", "frontal"), ("c.csv", "--curves", "angles"),
                  ("c.svg", "--curves", "nothing_like_it")):  # fmt: skip
        done = here("export", "walk.mcap", *words)
        assert done.code == 1
        assert not (tmp_path / words[0]).exists()
