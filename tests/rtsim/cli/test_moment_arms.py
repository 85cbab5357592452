"""`rtsim moment-arms`: tables, JSON, pictures, and what it refuses."""

from __future__ import annotations

import json

import pytest


def test_table_of_all_muscles_and_angles(here):
    """Protects the plain command: every muscle with its length and arms in millimetres."""
    done = here("moment-arms", "finger")
    assert done.code == 0, done.err
    head, titles, *rows = done.out.splitlines()
    assert "moment arms [mm] of finger" in head
    assert titles.split() == ["muscle", "length", "[mm]", "mcp_flexion", "pip_flexion"]
    assert [row.split()[0] for row in rows] == ["extensor", "profundus", "interosseous"]
    assert float(rows[0].split()[2]) == pytest.approx(-8.0)  # the tendon lies on the joint's cylinder


def test_json_of_a_sweep_by_all_methods(here):
    """Protects programs that read it: metres and radians, one list per method, all alike."""
    done = here(
        "moment-arms", "mechanism", "--angle", "theta", "--from", "-20", "--to", "20", "--steps", "3",
        "--method", "all", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert (found["model"], found["angle"], found["unit"]) == ("mechanism", "theta", "rad")
    assert found["values"] == pytest.approx([-0.349066, 0.0, 0.349066], abs=1e-6)
    assert set(found["moment_arm_m"]) == {"force", "partial-velocity", "velocity", "differences"}
    for arms in found["moment_arm_m"].values():
        assert [row[0] for row in arms] == pytest.approx(
            [row[0] for row in found["moment_arm_m"]["force"]], abs=1e-8
        )
    assert len(found["length_m"]) == 3


def test_a_coordinate_can_be_set(here):
    """Protects --at: the other angle's arm changes with the pose."""
    straight, bent = (
        json.loads(here("moment-arms", "finger", "--at", f"pip_flexion={value}", "--json").out)
        for value in (0, 90)
    )
    assert straight["moment_arm_m"]["force"][1] != bent["moment_arm_m"]["force"][1]


def test_the_sweep_is_drawn(here, tmp_path):
    """Protects --plot: a PNG file with something on it, also without a display."""
    pytest.importorskip("pyqtgraph")
    path = tmp_path / "finger.png"
    done = here("moment-arms", "finger", "--angle", "mcp_flexion", "--sweep", "--plot", str(path))
    assert done.code == 0, done.err
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert path.stat().st_size > 5000


BAD = {
    "muscle": (("finger", "--muscle", "biceps"), ("unknown muscle 'biceps'", "extensor")),
    "angle": (("finger", "--angle", "knee"), ("unknown angle 'knee'", "mcp_flexion")),
    "model": (("hand",), ("'hand'", "finger", "wrist")),
    "no angle to sweep": (("finger", "--sweep"), ("--angle", "one angle", "mcp_flexion")),
    "no range": (("wrist", "--angle", "wrist_flexion", "--sweep"), ("no range", "--from", "--to")),
    "value": (("finger", "--at", "mcp_flexion=much"), ("--at", "'much'", "no number")),
    "half a value": (("finger", "--at", "mcp_flexion"), ("--at", "COORDINATE=VALUE")),
    "a value beyond any finger": (
        ("finger", "--at", "mcp_flexion=1e9"),
        ("--at", "1e+09 deg", "-3600 to 3600 deg"),
    ),
    "a value that is none": (("finger", "--at", "mcp_flexion=nan"), ("--at", "nan deg", "-3600 to 3600 deg")),
    "a length beyond any body": (("mechanism", "--at", "coordinate_5=inf"), ("--at", "inf mm", "100000 mm")),
    "a value twice": (("finger", "--at", "mcp_flexion=1", "--at", "mcp_flexion=2"), ("--at", "given twice")),
    "a sweep on the spot": (
        ("finger", "--angle", "mcp_flexion", "--from", "10", "--to", "10"),
        ("--from and --to: both ends are 10 deg", "two values that differ", "--at"),
    ),
    "a sweep from nowhere": (
        ("finger", "--angle", "mcp_flexion", "--from", "nan", "--to", "10"),
        ("--from", "nan deg", "-3600"),
    ),
    "a sweep without end": (
        ("finger", "--angle", "mcp_flexion", "--from", "0", "--to", "1e300"),
        ("--to", "1e+300 deg", "3600 deg"),
    ),
    "nothing to draw": (("finger", "--plot", "x.png"), ("--plot", "--sweep")),
    "no muscles": (("lower_limb",), ("subject",)),
}


@pytest.mark.parametrize("name", BAD)
def test_mistakes_are_told_in_one_sentence(here, name):
    """Protects users: what is wrong, where, and what is allowed."""
    arguments, words = BAD[name]
    done = here("moment-arms", *arguments)
    assert done.code == 1
    assert done.sentence.startswith("rtsim: ")
    for word in words:
        assert word in done.sentence
