"""Shipped marker maps, and finding the one that fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtsim.config.lab_schema import Lab
from rtsim.config.load import load_toml
from rtsim.config.paths import configs_root, shipped_names
from rtsim.errors import ConfigError
from rtsim.subjects.labs import cover, find_lab, load_lab, side_of

SHIPPED = ("bmc", "condyles", "gait2392", "lenhart", "mcgill", "opencap", "rajagopal")


def test_all_maps_are_shipped_and_load() -> None:
    """Protects every shipped map: schema, and its name is that of its file."""
    assert set(SHIPPED) <= set(shipped_names("labs"))
    for name in shipped_names("labs"):
        assert load_lab(name).name == name


@pytest.mark.parametrize("name", SHIPPED)
def test_left_mirrors_right(name: str) -> None:
    """Protects the tables from a marker of the wrong side: left has the roles of right, with other names."""
    lab = load_lab(name)
    assert lab.left.roles.keys() == lab.right.roles.keys()
    assert lab.left.asis == lab.right.asis_opposite
    assert set(lab.left.tracking.pelvis) == set(lab.right.tracking.pelvis)
    for segment in ("thigh", "shank", "foot"):
        assert not set(getattr(lab.left.tracking, segment)) & set(getattr(lab.right.tracking, segment))
    for role in lab.right.roles.keys() - {"sacrum"}:
        assert lab.right.roles[role].lower().startswith("r") != role.endswith("_opposite")
        assert lab.left.roles[role].lower().startswith("l") != role.endswith("_opposite")


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("side", ["right", "left"])
def test_map_finds_itself(name: str, side: str) -> None:
    """Protects the choice between maps that share most names, from the tracked markers of one side."""
    names = side_of(load_lab(name), side).tracking.names
    assert find_lab(names, side).name == name
    assert find_lab(names).name == name


def test_markers_that_dropped_out_do_not_matter() -> None:
    """Protects the choice on incomplete files, with the name of a subject before every marker."""
    names = [
        f"Ann:{name}" for name in load_lab("mcgill").right.tracking.names if name not in ("RSTL", "RTIB")
    ]
    assert find_lab([*names, "Ann:C7", "Ann:CLAV"]).name == "mcgill"


def test_unknown_markers_say_what_the_nearest_map_lacks() -> None:
    """Protects the message: nearest map, missing markers, and how to write a map."""
    with pytest.raises(ConfigError) as error:
        find_lab(["RASI", "LASI", "RKNE", "ankle"], "right")
    text = str(error.value)
    for part in ("mcgill", "SACR", "RTHI", "copy configs/labs/mcgill.toml", "RASI, LASI, RKNE, ankle"):
        assert part in text


def test_coverage_counts_tracked_markers() -> None:
    """Protects the share that decides."""
    found = cover(load_lab("opencap"), "left", ["l.asis", "R.ASIS", "L_calc"])
    assert found.n_tracked == 16
    assert found.share == pytest.approx(3 / 16)
    assert "L_knee" in found.missing


def test_a_map_of_ones_own(tmp_path: Path) -> None:
    """Protects maps given by path."""
    path = tmp_path / "mine.toml"
    text = (configs_root() / "labs" / "bmc.toml").read_text(encoding="utf-8").replace("R.Heel", "RightHeel")
    path.write_text(text, encoding="utf-8")
    assert load_lab(str(path)).right.calcaneus == "RightHeel"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('asis = "R.ASIS"', 'asis = ""', "right.asis"),
        ('asis = "R.ASIS"', 'asiss = "R.ASIS"', "asiss"),
        ('psis = "R.PSIS"', 'psis = ""', "needs psis and psis_opposite, or sacrum"),
        ('epicondyle_medial = "R.Knee.Medial"', "", "thigh_lateral"),
        ('"R.GTR", "R.Knee", "R.Knee.Medial"', '"R.GTR", "R.HF"', "R.HF listed more than once"),
        ('["R.Heel", "R.MT1", "R.MT2", "R.MT5"]', "[]", "right.tracking.foot"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    """Protects the messages of the schema: the key or the reason stands in them, and the file."""
    path = tmp_path / "mine.toml"
    text = (configs_root() / "labs" / "bmc.toml").read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        load_toml(path, Lab)
    assert said in str(error.value)
    assert "mine.toml" in str(error.value)


def test_unknown_names_and_sides() -> None:
    """Protects the messages for a wrong lab and a wrong side."""
    with pytest.raises(ConfigError, match="bmc, condyles, gait2392"):
        load_lab("nowhere")
    with pytest.raises(ConfigError, match="allowed: right, left"):
        side_of(load_lab("bmc"), "both")
