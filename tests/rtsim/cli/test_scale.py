"""`rtsim scale`: from an unscaled model and a static trial to the model of a person."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rtsim.files.markers.markers import read_markers
from rtsim.files.markers.trc import write_trc
from rtsim.files.markers.trial import MarkerTrial
from rtsim.files.osim.model import read_osim
from rtsim.models.load import load_model
from tests.rtsim.files.osim_texts import GROUND, ZERO, Coordinate, Joint, Model

ROD = (
    Joint("PinJoint", GROUND, "thigh", (Coordinate("hip", 0.1),), "", ("0 1 0", ZERO), (ZERO, ZERO)),
    Joint("PinJoint", "thigh", "shank", (Coordinate("knee", -0.2),), "", ("0 -0.4 0", ZERO), (ZERO, ZERO)),
)
PLACES = {
    "top": ("thigh", (0.0, 0.0, 0.05)),
    "mid": ("thigh", (0.05, -0.2, 0.0)),
    "low": ("thigh", (0.0, -0.4, 0.02)),
    "shin": ("shank", (0.04, -0.2, 0.0)),
    "toe": ("shank", (0.1, -0.45, 0.01)),
}
MARKERS = "".join(
    f"<Marker name='{name}'><socket_parent_frame>/bodyset/{body}</socket_parent_frame>"
    f"<location>{x} {y} {z}</location><fixed>false</fixed></Marker>"
    for name, (body, (x, y, z)) in PLACES.items()
)
SETUP = """<OpenSimDocument Version='40000'><ScaleTool name='p'><mass>{mass}</mass><ModelScaler>
<scaling_order>measurements</scaling_order><MeasurementSet><objects><Measurement name='thigh'><MarkerPairSet>
<objects><MarkerPair><markers>top low</markers></MarkerPair></objects></MarkerPairSet><BodyScaleSet><objects>
<BodyScale name='thigh'><axes>X Y Z</axes></BodyScale></objects></BodyScaleSet></Measurement></objects>
</MeasurementSet><preserve_mass_distribution>true</preserve_mass_distribution></ModelScaler><MarkerPlacer>
<IKTaskSet><objects>{tasks}</objects></IKTaskSet><time_range>0 0.5</time_range></MarkerPlacer></ScaleTool>
</OpenSimDocument>"""
TASKS = "".join(f"<IKMarkerTask name='{name}'><weight>1</weight></IKMarkerTask>" for name in PLACES)


@pytest.fixture
def files(tmp_path):
    """Model, setup and a static trial of somebody with a thigh of 1.1 times the size."""
    (tmp_path / "rod.osim").write_text(
        Model(ROD, more=f"<MarkerSet><objects>{MARKERS}</objects></MarkerSet>").text(40600)
    )
    (tmp_path / "setup.xml").write_text(SETUP.format(mass=10, tasks=TASKS))

    def turn(angle):
        c, s = np.cos(angle), np.sin(angle)
        return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])

    hip, knee = np.array([0.0, 1.0, 0.0]), turn(0.3) @ [0.0, -0.44, 0.0]
    frame = []
    for body, x in PLACES.values():
        if body == "thigh":
            frame.append(hip + turn(0.3) @ (1.1 * np.array(x)))
        else:
            frame.append(hip + knee + turn(-0.2) @ np.array(x))
    positions = np.repeat(np.array(frame)[None], 60, axis=0)
    write_trc(
        tmp_path / "static.trc", MarkerTrial(tuple(PLACES), np.arange(60) / 100.0, positions, 100.0, "made")
    )
    return tmp_path


def scale(here, files, out, *more):
    names = ("rod.osim", "--setup", "setup.xml", "--static", "static.trc")
    return here(
        "scale", *(str(files / x) if "." in x else x for x in names), "--out", str(files / out), *more
    )


@pytest.mark.parametrize("suffix", [".osim", ".toml"])
def test_a_model_is_scaled(here, files, suffix):
    """Protects the whole way: sizes, mass and marker places of somebody whose sizes are known."""
    done = scale(here, files, f"person{suffix}", "--json")
    assert done.code == 0, done.err
    said = json.loads(done.out)
    assert said["factors"]["thigh"] == pytest.approx([1.1] * 3, rel=1e-6)
    assert said["factors"]["shank"] == [1.0] * 3
    assert sum(said["mass_kg"].values()) == pytest.approx(10.0)
    assert max(said["marker_error_mm"].values()) < 1e-3  # the trial has six digits
    spec = load_model(str(files / f"person{suffix}"))
    places = {marker.name: marker.offset_mm for marker in spec.markers}
    np.testing.assert_allclose(places["mid"], [55.0, -220.0, 0.0], atol=1e-3)
    np.testing.assert_allclose(places["toe"], [100.0, -450.0, 10.0], atol=1e-3)
    assert spec.bodies[1].in_parent.offset_mm == pytest.approx((0.0, -440.0, 0.0), rel=1e-6)


def test_mass_on_the_command_line(here, files):
    """Protects the option: it goes before the setup, and people are told the figures."""
    done = scale(here, files, "p.osim", "--mass", "20")
    assert done.code == 0, done.err
    assert "factor 1.1000" in done.out
    assert sum(body.mass_kg for body in read_osim(files / "p.osim")[0].bodies) == pytest.approx(20.0)


def test_a_mass_that_has_no_effect_is_told(here, files):
    """Protects from a model of another mass: where nothing is scaled, the mass of the person is not used."""
    setup = files / "setup.xml"
    setup.write_text(setup.read_text().replace("<ModelScaler>", "<ModelScaler><apply>false</apply>"))
    done = scale(here, files, "p.toml", "--mass", "80")
    assert done.code == 0, done.err
    assert "the mass of 80 kg is not used, because the setup's ModelScaler is switched off" in done.err


def test_what_cannot_be(here, files):
    """Protects files and people: a wrong name, an impossible mass, a file that is there, a missing trial."""
    for arguments, words in (
        (("p.txt",), "cannot be the name of a model file"),
        (("p.osim", "--mass", "-1"), "--mass"),
        (("p.osim", "--mass", "nan"), "--mass"),
        (("rod.osim",), "exists already"),
    ):
        done = scale(here, files, *arguments)
        assert done.code == 1
        assert words in done.err
    done = here(
        "scale", str(files / "rod.osim"), "--setup", str(files / "setup.xml"), "--out", str(files / "q.osim")
    )
    assert done.code == 1
    assert "add --static" in done.err
    assert not (files / "q.osim").exists()


@pytest.mark.parametrize("tool", ["ModelScaler", "MarkerPlacer"])
def test_a_time_range_beside_the_trial_is_refused(here, files, tool):
    """Protects from a person scaled by one frame: a range of another trial has no frame in this one."""
    ranged, setup = {"ModelScaler": "0 0.5", "MarkerPlacer": "0 0.5", tool: "5 6"}, files / "setup.xml"
    text = setup.read_text().replace("<time_range>0 0.5", f"<time_range>{ranged['MarkerPlacer']}")
    own = f"<ModelScaler><time_range>{ranged['ModelScaler']}</time_range>"
    setup.write_text(text.replace("<ModelScaler>", own))
    done = scale(here, files, "p.toml")
    assert done.code == 1
    said = "the time_range 5 to 6 s is outside the static trial, which lasts from 0 to 0.59 s"
    assert f"{tool}: {said}" in done.err
    assert not (files / "p.toml").exists()


def test_a_time_range_that_is_in_part_beside_the_trial_is_told(here, files):
    """Protects from a mean over other frames than asked for: the part that is there is used, and told."""
    setup = files / "setup.xml"
    setup.write_text(setup.read_text().replace("<time_range>0 0.5", "<time_range>0.3 2"))
    done = scale(here, files, "p.toml")
    assert done.code == 0, done.err
    assert "MarkerPlacer: the time_range 0.3 to 2 s is only in part inside the static trial" in done.err


def test_a_time_range_that_nobody_set_means_the_first_frame(here, files):
    """Protects setups with OpenSim's own default, -1 to -1: the first frame tells sizes, markers and angles,
    as in OpenSim, which is told; an angle is not sought at a time before the trial."""
    setup, trial = files / "setup.xml", read_markers(files / "static.trc")
    later = trial.positions.copy()
    later[1:, trial.names.index("low")] += 0.1
    write_trc(files / "static.trc", trial._replace(positions=later))
    rows = "\n".join(f"{t}\t{-10.0 - 20.0 * t}" for t in (0.0, 0.5))
    head = "angles\nversion=1\nnRows=2\nnColumns=2\ninDegrees=yes\nendheader\ntime\tknee\n"
    (files / "pose.mot").write_text(f"{head}{rows}\n")
    task = "<IKCoordinateTask name='knee'><weight>1e6</weight><value_type>from_file</value_type>"
    unset = "<time_range>-1 -1</time_range>"
    text = SETUP.format(mass=10, tasks=f"{TASKS}{task}</IKCoordinateTask>")
    text = text.replace("<time_range>0 0.5", "<coordinate_file>pose.mot</coordinate_file><time_range>-1 -1")
    setup.write_text(text.replace("<ModelScaler>", f"<ModelScaler>{unset}"))
    done = scale(here, files, "p.toml")
    assert done.code == 0, done.err
    for tool in ("ModelScaler", "MarkerPlacer"):
        assert f"{tool}: the time_range -1 to -1 s is the one that OpenSim has where none is set" in done.err
    shank = next(body for body in load_model(str(files / "p.toml")).bodies if body.name == "shank")
    assert np.allclose(shank.in_parent.offset_mm, [0.0, -440.0, 0.0], atol=1e-3)
    assert "so the one nearest to" not in done.err


def test_measurements_that_cannot_be_taken_are_told(here, files):
    """Protects from a model that is silently not scaled: the measurement and its reason are said."""
    setup = files / "setup.xml"
    setup.write_text(setup.read_text().replace("top low", "top nose"))
    done = scale(here, files, "p.toml")
    assert done.code == 0, done.err
    assert "measurement thigh is not used: the model has no nose" in done.err


def test_a_static_trial_of_another_marker_set_scales_nothing(here, files):
    """Protects from a model of unscaled sizes that is called the person's: of a trial with other markers, as
    of another laboratory, both names are told; one that only lacks some is gone on with."""
    from rtsim.files.markers.trc import read_trc

    own = read_trc(files / "static.trc", up="Y", units="mm")
    for kept, code in ((("low",), 1), ((), 1), (("top", "low", "mid", "toe"), 0)):
        names = tuple(name if name in kept else f"L{k}" for k, name in enumerate(own.names))
        write_trc(files / "static.trc", own._replace(names=names))
        done = scale(here, files, "p.toml", "--force")
        assert done.code == code, done.err
        if code:
            assert (
                "the trial has other markers than the setup: of the 2 markers to be measured (top, low)"
                in done.err
            )
            assert "L0" in done.sentence
            assert not (files / "p.toml").exists()


def test_the_planar_body_of_a_person(here, tmp_path):
    """Protects a body made from three numbers: it weighs what was asked, and is read again as it was made."""
    path = tmp_path / "me.toml"
    done = here("scale", "planar_body", "--sex", "female", "--mass", 58, "--stature", 1650, "--out", path)
    assert done.code == 0, done.err
    spec = load_model(str(path))
    assert sum(body.mass_kg for body in spec.bodies) == pytest.approx(58.0, rel=1e-3)


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        ("planar_body", ["--mass", "60"], "sex, mass and stature"),
        (
            "planar_body",
            ["--mass", "60", "--sex", "male", "--stature", "17"],
            "17 mm is not a possible stature",
        ),
        (
            "planar_body",
            ["--mass", "10", "--sex", "male", "--stature", "2200"],
            "cannot belong to one person",
        ),
        ("legs.osim", ["--mass", "60"], "scaled by distances between markers"),
    ],
)
def test_what_a_planar_body_cannot_be_made_of(refused, tmp_path, model, options, words):
    """Protects from a guess: what lacks or cannot be meant is named."""
    assert words in refused("scale", model, *options, "--out", tmp_path / "me.toml")
