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


TWO = """
name = "two"
source = "made up"
[[bodies]]
name = "arm"
joint = "hinge"
axis = "w"
coordinates = [{ name = "bend", range_deg = [0.0, 90.0] }]
mass_kg = 1.0
inertia_kg_m2 = [0.01, 0.01, 0.01]
[[surfaces]]
name = "ball"
segment = "ground"
kind = "sphere"
radius_mm = 30.0
[[surfaces]]
name = "bar"
segment = "arm"
kind = "cylinder"
radius_mm = 5.0
length_mm = 20.0
offset_mm = [0.0, -60.0, 0.0]
[[muscles]]
name = "good"
path = [
  { segment = "ground", offset_mm = [40.0, 60.0, 0.0] },
  { segment = "arm", offset_mm = [20.0, -80.0, 0.0] },
]
[[muscles]]
name = "bad"
path = [
  { segment = "ground", offset_mm = [0.0, 90.0, 0.0] },
  { over = "ball" },
  { segment = "arm", offset_mm = [20.0, 0.0, 0.0] },
]
[[muscles]]
name = "sometimes"
path = [
  { segment = "ground", offset_mm = [0.0, 90.0, 0.0] },
  { over = "ball" },
  { segment = "arm", offset_mm = [20.0, -30.0, 0.0] },
]
[[muscles]]
name = "beyond"
path = [
  { segment = "ground", offset_mm = [5.0, 10.0, 15.0] },
  { over = "bar" },
  { segment = "arm", offset_mm = [2.0, -120.0, 30.0] },
]
"""
INSIDE = "path point 3 lies inside ball"


@pytest.fixture
def two(tmp_path):
    """A model of which one muscle always fails and one in some poses; the text may be changed first."""

    def write(right: str = "", wrong: str = "") -> str:
        assert right in TWO
        (tmp_path / "two.toml").write_text(TWO.replace(right, wrong) if right else TWO)
        return "two.toml"

    return write


SOMETIMES = '{ segment = "arm", offset_mm = [20.0, -30.0, 0.0] }'
MOVES_IN = (
    '{ segment = "arm", moving = { of = "bend", x = { linear = [-0.03, 0.05] }, y = { constant = 0.0 }, '
    "z = { constant = 0.0 } } }"
)


def test_a_muscle_that_fails_leaves_the_others_alone(here, two):
    """Protects the user who asked for another muscle, and tables: NaN with its reason, the rest computed."""
    done = here("moment-arms", two(), "--muscle", "good", "--json")
    assert done.code == 0, done.err
    alone = json.loads(done.out)
    assert alone["failed"] == {}
    done = here("moment-arms", "two.toml")
    assert done.code == 0, done.err
    rows = {line.split()[0]: line.split()[1:] for line in done.out.splitlines()}
    assert rows["bad"] == ["nan", "nan"]
    assert float(rows["good"][1]) == pytest.approx(1e3 * alone["moment_arm_m"]["force"][0][0], abs=1e-3)
    assert done.out.splitlines()[-1] == f"nan: bad has no moment arm: {INSIDE}"
    done = here("moment-arms", "two.toml", "--method", "all", "--json")
    found = json.loads(done.out)
    assert found["failed"] == {"bad": INSIDE}
    assert found["length_m"][1] is None
    for arms in found["moment_arm_m"].values():
        assert arms[1] == [None]
        assert arms[0] == pytest.approx(alone["moment_arm_m"]["force"][0], abs=1e-9)
    assert (
        "largest difference between the methods: nan"
        not in here("moment-arms", "two.toml", "--method", "all").out
    )


def test_a_muscle_that_fails_in_some_poses_has_gaps(here, two, tmp_path):
    """Protects sweeps: values where the path exists, nulls with the reason where not, in table and JSON."""
    sweep = ("moment-arms", two(SOMETIMES, MOVES_IN), "--angle", "bend", "--sweep", "--steps", "10")
    found = json.loads(here(*sweep, "--json").out)
    gaps = [lengths[2] is None for lengths in found["length_m"]]
    assert 0 < sum(gaps) < 10
    assert [failed.get("sometimes") for failed in found["failed"]] == [
        INSIDE if gap else None for gap in gaps
    ]
    assert [arms[2] is None for arms in found["moment_arm_m"]["force"]] == gaps
    assert all(arms[0] is not None for arms in found["moment_arm_m"]["force"])
    done = here(*sweep)
    assert done.code == 0, done.err
    assert f"nan: sometimes has no moment arm: {INSIDE} (at {sum(gaps)} values of " in done.out
    assert f"nan: bad has no moment arm: {INSIDE} (at 10 values of 0 to 90 deg)" in done.out


def test_a_sweep_with_gaps_is_drawn(here, two, tmp_path):
    """Protects --plot: curves end where a path fails."""
    pytest.importorskip("pyqtgraph")
    model = two(SOMETIMES, MOVES_IN)
    done = here("moment-arms", model, "--angle", "bend", "--sweep", "--plot", "gaps.png")
    assert done.code == 0, done.err
    assert (tmp_path / "gaps.png").stat().st_size > 5000


@pytest.mark.parametrize("sweep", [(), ("--angle", "bend", "--sweep", "--steps", "3")])
def test_nothing_but_failures_is_an_error(here, two, sweep):
    """Protects scripts: if no path that was asked for exists, the exit code and a sentence say so."""
    done = here("moment-arms", two(), "--muscle", "bad", "--json", *sweep)
    assert done.code == 1
    assert "muscle bad: " + INSIDE in done.sentence
    assert json.loads(done.out)["muscles"] == ["bad"]


@pytest.mark.parametrize(
    ("right", "wrong", "word"),
    [
        ("[0.01, 0.01, 0.01]", "[0.01, -0.01, 0.01]", "a principal moment of inertia is negative"),
        (
            "[0.01, 0.01, 0.01]",
            "[0.01, 0.01, 0.01, 0.0, 0.02, 0.0]",
            "a principal moment of inertia is negative",
        ),
        ("mass_kg = 1.0\n", "", "the body has an inertia but no mass"),
    ],
)
def test_inertias_are_checked_by_what_uses_them(here, two, right, wrong, word):
    """Protects moment arms of models with wrong inertias; a simulation and check refuse them by key."""
    model = two(right, wrong)
    done = here("moment-arms", model, "--muscle", "good")
    assert done.code == 0, done.err
    for arguments in (("simulate", model), ("check", model)):
        done = here(*arguments)
        assert done.code == 1
        assert f"model two: bodies.arm.inertia_kg_m2: {word}" in done.err


def test_an_inertia_that_no_body_has_is_told(here, two):
    """Protects published models whose feet break the triangle inequality: used as given, and said."""
    model = two("[0.01, 0.01, 0.01]", "[0.01, 0.01, 0.05]")
    done = here("check", model)
    assert done.code == 0, done.err
    assert "bodies.arm.inertia_kg_m2: no real body has this inertia" in done.out


def test_a_cylinder_ends(here, two):
    """Protects the length of cylinders: a path beyond the end is straight, without a length it wraps."""
    ended, endless = (
        json.loads(here("moment-arms", two(right, ""), "--muscle", "beyond", "--json").out)["length_m"][0]
        for right in ("", "length_mm = 20.0\n")
    )
    assert ended == pytest.approx((3.0**2 + 130.0**2 + 15.0**2) ** 0.5 * 1e-3, rel=1e-12)
    assert endless > ended + 1e-5


LIFT = """
name = "lift"
source = "made up"
[[bodies]]
name = "block"
joint = "slider"
axis = "v"
coordinates = [{ name = "height", range_mm = [0.0, 50.0] }]
mass_kg = 1.0
inertia_kg_m2 = [0.01, 0.01, 0.01]
[[bodies]]
name = "arm"
parent = "block"
joint = "hinge"
axis = "w"
coordinates = [{ name = "bend" }]
mass_kg = 1.0
inertia_kg_m2 = [0.01, 0.01, 0.01]
[[muscles]]
name = "cord"
path = [
  { segment = "ground", offset_mm = [0.0, 100.0, 0.0] },
  { segment = "arm", offset_mm = [20.0, 0.0, 0.0] },
]
"""


def test_arms_about_a_displacement_have_no_unit(here, tmp_path):
    """Protects from arms a thousand times too large: -d(length)/d(height) is a ratio, not millimetres."""
    (tmp_path / "lift.toml").write_text(LIFT)
    cosine = 100.0 / (100.0**2 + 20.0**2) ** 0.5
    told = json.loads(here("moment-arms", "lift.toml", "--json").out)
    assert (told["angles"], told["displacements"]) == (["bend"], ["height"])
    assert told["moment_arm"]["force"][0] == pytest.approx([cosine], abs=1e-9)
    assert told["moment_arm_m"]["force"][0] == pytest.approx([0.02 * cosine], abs=1e-9)
    head, names, cord, *more = here("moment-arms", "lift.toml", "--method", "all").out.splitlines()
    assert "[mm], or [1] where the head says so" in head
    assert "height [1]" in names
    cord = next(line.split() for line in (cord, *more) if line.startswith("cord"))
    assert cord[2:] == [f"{cosine:.5f}", f"{20.0 * cosine:.3f}"]
    assert more[-2].startswith("largest difference between the methods: about displacements ")
    sweep = ("moment-arms", "lift.toml", "--angle", "height", "--sweep", "--steps", "2")
    along = json.loads(here(*sweep, "--json").out)
    assert (along["unit"], along["moment_arm"]["force"][0]) == ("m", pytest.approx([cosine], abs=1e-9))
    assert here(*sweep).out.startswith("moment arms [1] of lift about height\n")


def test_values_that_contradict_each_other_are_refused(here):
    """Protects from arms in another pose than the one asked for: coupled angles cannot both be set."""
    for places in (
        ("radiocarpal_flexion=20", "wrist_flexion=60"),
        ("wrist_flexion=60", "radiocarpal_flexion=20"),
    ):
        done = here("moment-arms", "wrist", *(word for place in places for word in ("--at", place)))
        assert done.code == 1
        assert "--at: no pose was found with" in done.sentence
    at = ("--at", "radiocarpal_flexion=20", "--at", "wrist_flexion=40")
    assert here("moment-arms", "wrist", *at).code == 0


def test_a_value_that_moves_along_a_sweep_is_told(here):
    """Protects from a sweep in which a given angle does not stay where it was set."""
    sweep = ("--angle", "wrist_flexion", "--from", "0", "--to", "40", "--steps", "2", "--json")
    done = here("moment-arms", "wrist", "--at", "radiocarpal_flexion=5", *sweep)
    assert done.code == 0
    assert "radiocarpal_flexion of --at does not keep its value in this sweep" in done.err
    assert "it is 0 deg to 20 deg" in done.err


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
        ("--from and --to: both ends of the sweep are 10 deg", "two values that differ", "--at"),
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
