"""`rtsim check`: right configs are named, wrong ones told, each in a line."""

from __future__ import annotations

import re

import pytest

from rtsim.config.paths import configs_root


def shipped(folder: str, name: str) -> str:
    """Text of a shipped config."""
    return (configs_root() / folder / f"{name}.toml").read_text(encoding="utf-8")


def without(text: str, pattern: str) -> str:
    """The text without everything that fits."""
    found, n = re.subn(pattern, "", text, flags=re.S | re.M)
    assert n > 0
    return found


def instead(text: str, old: str, new: str) -> str:
    """The text with something else in one place."""
    assert old in text
    return text.replace(old, new, 1)


WALKER, PIN, LAB = shipped("subjects", "walker"), shipped("models", "pin"), shipped("labs", "lenhart")
IMPACT, RUN = shipped("models", "impact"), 'name = "mine"\n'
# what is wrong -> the config, words of the sentence
WRONG = {
    "no foot": (without(WALKER, r'^\[segments."foot"\].*'), ("segments are pelvis, thigh, shank", "foot")),
    "no markers": (without(WALKER, r'^\[segments."\w+".markers_mm\]\n("\w+" = [^\n]*\n)+'), ("markers_mm",)),
    "a marker twice": (instead(WALKER, '"RSH1"', '"RTH1"'), ("'RTH1' is on thigh, shank",)),
    "a marker far away": (
        instead(WALKER, "-178.8", "-17880.0"), ("segments.shank: 'RSH1' is 17.9 m", "up to 1 m")
    ),
    "a giant": (instead(WALKER, "420.1", "4201.0"), ("segments.thigh.length_mm: 4201", "100 to 700 mm")),
    "a flat segment": (instead(WALKER, "90.68", "179.9"), ("thigh.alpha_deg: 179.9", "5 to 175 deg")),
    "no hip": (instead(WALKER, '"hip_centre"', '"hip"'), ("'hip_centre'", "calibrate again")),
    "a third side": (instead(WALKER, '"right"', '"third"'), ("side", "right, left")),
    "segments in a row": ('name = "x"\nsource = "y"\nsegments = [1]\n', ("segments", "Expected `table`")),
    "a stage before what it needs": (
        'name = "mine"\nsource = "walker"\nstages = ["kinematics", "muscle_speeds"]\n',
        ("'muscle_speeds' needs the stage 'rates' before it",),
    ),
    "a lab's marker twice": (
        instead(LAB, 'asis_opposite = "L.ASIS"', 'asis_opposite = "R.ASIS"'),
        ("right: asis and asis_opposite are both 'R.ASIS'", "another marker for each"),
    ),
    "a lab's marker on two segments": (
        instead(LAB, 'foot = ["R.Heel"', 'foot = ["R.Knee"'), ("right.tracking: R.Knee listed more",)
    ),
    "a number for a marker": (instead(LAB, '"R.Heel"', "3"), ("right.calcaneus: Expected `str`",)),
    "a lab without a foot": (instead(LAB, '["R.Heel", "R.MT5"]', "[]"), ("right.tracking.foot",)),
    "dynamic above static": (
        instead(IMPACT, "dynamic = 0.15", "dynamic = 0.5"),
        ("contacts[0].friction: dynamic = 0.5 is above static = 0.2", "0 to static"),
    ),
    "dynamic alone": (without(IMPACT, r"^static = [^\n]*\n"), ("dynamic = 0.15 is above static = 0",)),
    "a hinge without axis": (without(PIN, 'axis = "w"'), ("bodies.lower.axis: a hinge joint needs",)),
    "a slider without axis": (
        without(shipped("models", "stick_slip"), 'axis = "u"'), ("a slider joint needs its axis", "[x, y, z]")
    ),
    "two bodies of a name": (instead(PIN, 'name = "lower"', 'name = "upper"'), ("bodies: 'upper'",)),
    "no bodies": ('name = "x"\nsource = "y"\nloads = []\n', ("lacks the required field `bodies`", "add it")),
    "an empty list of bodies": ('name = "x"\nsource = "y"\nbodies = []\n', ("bodies", "length >= 1")),
    "a number of bodies": ('name = "x"\nsource = "y"\nbodies = 3\n', ("bodies: Expected `array`",)),
    "only a name": ('name = "x"\nsource = "y"\n', ("source: 'y' cannot be used as", "walker", ".c3d")),
    "a port beyond the last": (
        RUN + '[ports]\nresults = "tcp://127.0.0.1:99999"\n', ("ports.results", "99999", "0 to 65535")
    ),
    "an address twice": (
        RUN + '[ports]\nresults = "tcp://127.0.0.1:5562"\n', ("control: ", "is taken by results already")
    ),
    "a source without port": (RUN + 'source = "tcp://localhost"\n', ("source: ", "no host or no port")),
    "an unknown method": (RUN + 'method = "best"\n', ("method: unknown method 'best'", "zero, minimised")),
    "methods twice": (RUN + 'methods = ["zero", "zero"]\n', ("methods: 'zero'", "each once")),
    "an unknown unit": (RUN + 'units = "parsec"\n', ("units: 'parsec'", "m, cm, mm, dm, in, ft")),
    "an unknown axis": (RUN + 'up = "down"\n', ("up: 'down'", "X, Y")),
    "a source of no kind": (RUN + 'source = "x.txt"\n', ("source: 'x.txt' cannot be used as", ".c3d")),
    "an unknown subject": (RUN + 'subject = "nobody"\n', ("no config named 'nobody' in subjects/", "walker")),
    "an unknown lab": (RUN + 'lab = "nowhere"\n', ("no config named 'nowhere' in labs/", "lenhart")),
    "an unknown model": (RUN + 'model = "arm"\n', ("no config named 'arm' in models/", "lower_limb")),
    "words for a number": (RUN + 'backlog = "many"\n', ("backlog: Expected `int`, got `str`",)),
    "nothing": ("", ("lacks the required field `name`",)),
}  # fmt: skip
SHIPPED = sorted(configs_root().glob("*/*.toml"))


def test_all_shipped_configs_are_checked(here):
    """Protects what is shipped, and the command without arguments."""
    done = here("check")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert [*dict.fromkeys(line.split(": ")[0] for line in lines)] == [str(path) for path in SHIPPED]
    assert any(
        "model lower_limb: 4 bodies, 3 surfaces, 12 muscles, 6 ligaments, 2 contacts, methods zero" in line
        for line in lines
    )
    assert any("subject walker: 4 segments, 17 markers" in line for line in lines)


def test_every_file_is_told_and_the_bad_ones_counted(here, tmp_path):
    """Protects against stopping at the first fault: all files are looked at."""
    (tmp_path / "good.toml").write_text('name = "mine"\nduration_s = 3.0\n')
    (tmp_path / "typo.toml").write_text('name = "mine"\nduratoin_s = 3.0\n')
    (tmp_path / "broken.toml").write_text("name = \n")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    names = ("good.toml", "typo.toml", "broken.toml", "binary.toml", "missing.toml", ".")
    done = here("check", *names)
    assert done.code == 1
    assert done.out == "good.toml: run mine\n"
    told = done.err.splitlines()
    assert len(told) == 6
    for name, line, words in zip(
        names[1:],
        told,
        ("duratoin_s", "not valid TOML", "UTF-8", "no such file", "is a folder"),
        strict=False,
    ):
        assert line.startswith((f"{name}: ", f"{name} is"))
        assert words in line
    assert done.sentence == "rtsim: check: 5 of 6 configs contain mistakes"


def test_control_characters_in_a_config_are_not_obeyed(here, tmp_path):
    """Protects the terminal: a name that clears the screen is written with its codes, good or bad."""
    walker = shipped("subjects", "walker").replace('"walker"', '"a\\u001b[2Jb"', 1)
    (tmp_path / "person.toml").write_text(walker)
    (tmp_path / "bad.toml").write_text('name = "x"\n"\\u001b[2J" = 3\n')
    done = here("check", "person.toml", "bad.toml")
    assert done.out == "person.toml: subject a\\x1b[2Jb: 4 segments, 17 markers\n"
    assert "\x1b" not in done.err


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_config_is_told(here, tmp_path, fault):
    """Protects users from a config that check calls right and a run refuses: file, key, what is allowed."""
    text, words = WRONG[fault]
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    done = here("check", "mine.toml")
    assert (done.code, done.out) == (1, "")
    line = done.err.splitlines()[0]
    assert line.startswith("mine.toml: ")
    for word in words:
        assert word in line


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_copy_with_one_key_too_many_is_refused(here, tmp_path, path):
    """Protects against typing errors in any kind of config."""
    copy = tmp_path / path.name
    copy.write_text("unheard_of = 1\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    done = here("check", copy)
    assert done.code == 1
    assert "unheard_of" in done.err
    assert "allowed: name" in done.err


def test_shipped_configs_are_checked_by_name(here):
    """Protects who writes what every other command takes: a name is each shipped config that has it."""
    done = here("check", "walker", "pin")
    assert done.code == 0, done.err
    told = done.out.splitlines()
    for kind in ("lab walker", "run walker", "subject walker", "model pin"):
        assert any(f".toml: {kind}" in line for line in told), kind
    lost = here("check", "walkers")
    assert lost.code == 1
    assert "walkers: no such file" in lost.err
