"""Shipped marker maps, and finding the one that fits."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from rtsim.config.load import load_toml
from rtsim.config.paths import configs_root, shipped_names
from rtsim.config.runs.lab_schema import LabMap
from rtsim.errors import ConfigError
from rtsim.subjects.markers import labs
from rtsim.subjects.markers.labs import cover, find_lab, load_lab, side_of

SHIPPED = tuple(name for name in shipped_names("labs") if name != "walker")
"""All but the walker's, whose right leg is marked alone."""


def test_all_maps_load() -> None:
    """Protects every shipped map: schema, and its name is that of its file."""
    for name in shipped_names("labs"):
        assert load_lab(name).name == name


@pytest.mark.parametrize("name", SHIPPED)
def test_left_mirrors_right(name: str) -> None:
    """Protects the tables from a marker of the wrong side: left has the roles of right, with other names."""
    lab = load_lab(name)
    assert lab.left.roles.keys() == lab.right.roles.keys()
    assert lab.left.asis == lab.right.asis_opposite
    assert lab.left.hip_centre == lab.right.hip_centre_opposite
    assert set(lab.left.tracking.pelvis) == set(lab.right.tracking.pelvis)
    for segment in ("thigh", "shank", "foot"):
        assert not set(getattr(lab.left.tracking, segment)) & set(getattr(lab.right.tracking, segment))
    for role in lab.right.roles.keys() - {"sacrum", "neck"}:
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
    for part in ("cgm1", "RPSI", "RTHI", "copy configs/labs/cgm1.toml", "RASI, LASI, RKNE, ankle"):
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
        ('malleolus_medial = "R.Ankle.Medial"', "", "needs malleolus_medial, or shank_lateral"),
        ('metatarsal_5 = "R.MT5"', "", "or toe, which is then used as their midpoint"),
        ('fibula_head = "R.HF"', 'knee_device_axis = "R.KAX"', "knee_device_1"),
        (
            'about = "',
            'spellings = {RHEE = ["RHEEL"]}\nabout = "',
            "spellings of markers that are not in any table of this map: RHEE",
        ),
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
        load_toml(path, LabMap)
    assert said in str(error.value)
    assert "mine.toml" in str(error.value)


def test_unknown_names_and_sides() -> None:
    """Protects the messages for a wrong lab and a wrong side."""
    with pytest.raises(ConfigError, match=r"bmc, cast, cgm1, cgm2\.3, cgm2\.4, condyles, gait2392"):
        load_lab("nowhere")
    with pytest.raises(ConfigError, match="allowed: right, left"):
        side_of(load_lab("bmc"), "both")


SETS = {
    "cgm1": "RASI LASI RPSI LPSI RTHI RKNE RTIB RANK RHEE RTOE",
    "cgm1 full body": "LFHD RFHD C7 T10 CLAV STRN RBAK RSHO LSHO "
    "RASI LASI RPSI LPSI RTHI RKNE RTIB RANK RHEE RTOE",
    "cgm1 with SACR": "RASI LASI SACR RTHI RKNE RTIB RANK RHEE RTOE",
    "cgm1 static with a device": "RASI LASI RPSI LPSI RTHI RKAX RKD1 RKD2 RTIB RANK RMED RHEE RTOE",
    "cgm1 with T2": "RASI LASI RPSI LPSI RTHI RKNE RKNM RTIB RANK RMED RHEE RTOE T2",
    "cgm2.3": "RASI LASI RPSI LPSI RTHI RTHAP RTHAD RKNE RTIB RTIAP RTIAD RANK RHEE RTOE",
    "cgm2.4": "RASI LASI RPSI LPSI RTHI RTHAP RTHAD RKNE RTIB RTIAP RTIAD RANK RHEE RTOE RSMH RFMH RVMH",
    "helen_hayes": "R.ASIS L.ASIS V.Sacral R.Thigh R.Knee R.Shank R.Ankle R.Heel R.Toe",
    "helen_hayes as one word": "RASIS LASIS SACR RTHIGH RKNEE RSHANK RANKLE RHEEL RTOE",
    "ior": "RASIS LASIS RPSIS LPSIS RGT RLE RHF RTT RLM RCA RFM RSM RVM",
    "ior with RASI": "RASI LASI RPSI LPSI RGT RLE RHF RTT RLM RCA RFM RSM RVM",
    "isb": "RIAS LIAS RIPS LIPS RFTC RFLE RFME RFAX RTTC RFAL RTAM RFCC RFM1 RFM2 RFM5",
    "isb by R_": "R_IAS L_IAS R_IPS L_IPS R_FTC R_FLE R_FME R_FAX R_TTC R_FAL R_TAM R_FCC R_FM1 R_FM2 R_FM5",
    "cast": "RASIS LASIS RPSIS LPSIS RTH1 RTH2 RTH3 RTH4 RSK1 RSK2 RSK3 RSK4 RHEEL RMT1 RMT5",
    "cast with other words": "RASI LASI RPSI LPSI RTH1 RTH2 RTH3 RTH4 RSH1 RSH2 RSH3 RSH4 RHEE RMH1 RMH5",
    "hbm2": "RASIS LASIS RPSIS LPSIS RLTHI RLEK RMEK RLSHA RLM RMM RHEE RMT2 RMT5 C7 T10 XIPH JN",
    "hbm2 with a toe": "RASIS LASIS RPSIS LPSIS RLTHI RLEK RMEK RLSHA RLM RMM RHEE RTOE RMT5",
    "halpe": "Hip RHip RKnee RAnkle RBigToe RSmallToe RHeel LHip LKnee Neck Head Nose RShoulder",
    "opencap_video": "r.ASIS_study L.ASIS_study r.PSIS_study L.PSIS_study r_knee_study "
    "r_mknee_study r_ankle_study "
    "r_mankle_study r_calc_study r_toe_study r_5meta_study r_thigh1_study r_sh1_study "
    "r_thigh2_study r_sh2_study "
    "r_thigh3_study r_sh3_study r_shoulder_study C7_study RHJC_study",
}
"""Sets as laboratories mark the right leg, by the first word of the map that is to be found."""


@pytest.mark.parametrize("case", SETS)
@pytest.mark.parametrize("written", ["{}", "Anna:{}", "anna_{}"])
def test_common_sets_are_found(case: str, written: str) -> None:
    """Protects the choice by the usual names of a set, in any order and case, with a subject before them."""
    names = [written.format(name) for name in SETS[case].split()]
    wanted = case.split()[0]
    assert find_lab(names).name == wanted
    assert find_lab([name.lower() for name in reversed(names)]).name == wanted


@pytest.mark.parametrize("case", SETS)
def test_common_sets_are_found_beside_another_person(case: str) -> None:
    """Protects the choice where a second person, marked by a few others, is in the file."""
    names = [f"Bob:{name}" for name in ("RASI", "R.Heel", "RTOE")] + [
        f"Anna:{name}" for name in SETS[case].split()
    ]
    assert find_lab(names).name == case.split()[0]


def test_maps_that_fit_alike_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from a choice by the alphabet: two maps that use markers differently are both named."""
    one = load_lab("cgm1")
    right = msgspec.structs.replace(one.right, thigh_lateral=one.right.shank_lateral, shank_lateral="RTHI")
    other = msgspec.structs.replace(one, name="another", right=right)
    monkeypatch.setattr(labs, "shipped_labs", lambda: (one, other))
    with pytest.raises(ConfigError, match=r"cgm1 and another both fit .*--lab cgm1, --lab another"):
        find_lab(SETS["cgm1"].split())
