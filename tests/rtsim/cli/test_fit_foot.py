"""`rtsim fit foot`: a model and a report from a real walk, other steps held against it, mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rtsim.cli.main import main
from rtsim.methods.foot.foot_model import foot_of
from rtsim.models.load import load_model


def run(capsys, *arguments: object) -> tuple[int, str, str]:
    """Return exit code, output and errors of `rtsim fit foot`."""
    with pytest.raises(SystemExit) as ended:
        main(["fit", "foot", *map(str, arguments)])
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


@pytest.fixture
def gait(shared: Path) -> Path:
    """The walks over seven plates."""
    return shared / "data" / "gait_bmc"


def test_a_walk_gives_a_model(gait, tmp_path, capsys):
    """Protects the whole way: errors within the thesis' on a calibration step, a model that can be used."""
    out = tmp_path / "mine.toml"
    code, text, said = run(capsys, gait / "walk1.trc", "--starts", 2, "--out", out, "--json")
    assert code == 0
    report = json.loads(text)
    first, *others = report["steps"]
    assert first["fitted"]
    assert first["rms"]["normal"] <= 0.034
    assert first["rms"]["cop"] <= 0.032
    assert [step["side"] for step in others] == ["left", "right"]
    assert others[1]["rms"]["normal"] <= 0.049
    assert others[1]["rms"]["cop"] <= 0.066
    assert first["unvalidated"] == ["friction", "spin"]
    assert report["not_looked_for"] == ["mu_d"]
    assert report["weak"]
    assert "start 2 of 2: cost" in said
    assert "the trial ends while plate_4 bears" in said
    spec = load_model(str(out))
    assert "walk1.trc, plate_6, right foot" in spec.source
    assert foot_of(spec, "mine").parameters[0] == pytest.approx(report["parameters"]["k_V"])
    code, text, _ = run(capsys, gait / "walk1.trc", "--validate", out, "--json")
    assert code == 0
    held = json.loads(text)["steps"]
    assert not any(step["fitted"] for step in held)
    assert held[0]["rms"]["normal"] <= 0.034
    assert held[1]["side"] == "left"  # the other foot, whose heel's marker is at another height
    assert held[1]["rms"]["cop"] <= 0.066


def test_the_report_stands_beside_the_thesis(gait, capsys):
    """Protects what people read: the tables of the thesis, what is unvalidated, what is undetermined."""
    code, text, _ = run(capsys, gait / "walk2.trc", "--starts", 1, "--plate", "plate_5")
    assert code == 0
    for words in (
        "walk2.trc, plate_5, left foot (fitted)", "table 5.5", "table 5.7", "table 5.8", "table 5.9",
        "not validated", "those of table 5.6", "hardly determine", "metatarsal markers are swapped",
    ):  # fmt: skip
        assert words in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("walk.trc",), "the trial has no force plates"),
        (
            ("walk1.trc", "--plate", "plate_4"),
            "no complete footstep is on plate 'plate_4'; allowed: plate_6, plate_5, plate_3",
        ),
        (("walk1.trc", "--mass", "-1"), "a body mass of -1 kg is impossible"),
        (
            ("walk1.trc", "--out", "a.osim"),
            "a.osim cannot be the name of a model file; allowed: a name that ends in .toml",
        ),
        (("walk1.trc", "--forces", "a.mot", "--forces", "b.mot"), "2 files of forces are given for 1 trials"),
        (("walk1.trc", "--validate", "foot", "--out", "a.toml"), "--out: the option applies only to a fit"),
        (("walk1.trc", "--validate", "knee"), "this model lacks bodies or contacts of a foot"),
        (("walk1.trc", "--pressure", "MDwalk2.apd"), "an image of peak pressures has no frames"),
        (
            ("walk1.trc", "--lab", "mcgill"),
            "no frame shows the heel and forefoot markers of the marker map mcgill",
        ),
        (("walk1.trc", "walk1.trc"), "TRIALS: a trial is given twice"),
        (("walk1.trc", "--plate", "plate_6", "--plate", "plate_6"), "--plate: a plate is given twice"),
        (("walk1.trc", "--seed", "-1"), "-1 is not in the range x>=0"),
        (
            ("walk1.trc", "--validate", "foot", "--plate", "plate_6"),
            "--plate: the option applies only to a fit",
        ),
        (("walk1.trc", "--validate", "foot", "--hops", "2"), "--hops: the option applies only to a fit"),
        (
            ("walk1.trc", "--pressure-as-placed"),
            "the option applies only to a pressure recording, and none is given",
        ),
        (("walk1.trc", "--pressure", "MDwalk2.apd", "--pressure-delay", "nan"), "nan s is out of range"),
        (("walk1.trc", "--footprint", "none.apd"), "none.apd: no such file"),
        (
            ("walk1.trc", "--up", "Z"),
            "Z looks like the vertical",
        ),
    ],
)
def test_what_cannot_be_is_told(gait, capsys, monkeypatch, arguments, said):
    """Protects one sentence and a non-zero exit for each mistake."""
    monkeypatch.chdir(gait)
    code, _, text = run(capsys, *arguments)
    assert code != 0
    assert said in " ".join(text.split())
    assert "Traceback" not in text
    assert "start 1 of" not in text  # told before anything slow


def test_a_figure_is_drawn(gait, tmp_path, capsys):
    """Protects the figures of curves, ellipsoids and pressure: one of every step, beside the first."""
    pytest.importorskip("PySide6")
    picture = tmp_path / "step.png"
    code, _, said = run(capsys, gait / "walk2.trc", "--starts", 1, "--plot", picture)
    assert code == 0, said
    for name in ("step.png", "step-2.png", "step-3.png"):
        assert (tmp_path / name).stat().st_size > 20_000


def test_a_static_trial_lends_its_marks(shared, capsys):
    """Protects --static: a walk without its first metatarsal is fitted; not with two markers on a foot."""
    folder = shared / "data" / "gait_mcgill"
    walk = [folder / "HC030A_straight.c3d", "--mass", 40, "--starts", 1]
    code, text, _ = run(capsys, *walk, "--static", folder / "HC030A_static.c3d", "--json")
    assert code == 0
    assert all(step["rms"]["normal"] < 0.049 for step in json.loads(text)["steps"])
    code, _, said = run(capsys, *walk)
    assert code == 1
    assert "give --static with a trial in which this marker is worn" in said
    folder = shared / "data" / "gait_lenhart"
    walk = [folder / "overground_17.trc", "--mass", 80, "--static", folder / "static1.trc"]
    code, _, said = run(capsys, *walk)
    assert code == 1
    assert "has no frame with this marker and 3 other markers of the foot" in said
