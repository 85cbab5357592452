"""Setup files of OpenSim's tools as plain records."""

from __future__ import annotations

import math

import pytest

from rtsim.errors import ConfigError
from rtsim.files.osim.setup_ik import read_ik_setup
from rtsim.files.osim.setup_scale import read_scale_setup
from rtsim.files.osim.tasks import CoordinateTask

MARKER = "<IKMarkerTask name='{}'><apply>{}</apply><weight>{}</weight></IKMarkerTask>"
COORDINATE = (
    "<IKCoordinateTask name='{}'><apply>true</apply><weight>5</weight><value_type>{}</value_type>"
    "<value>0.25</value></IKCoordinateTask>"
)


def tasks(*texts: str) -> str:
    return f"<IKTaskSet><objects>{''.join(texts)}</objects></IKTaskSet>"


def ik(inside: str) -> str:
    return (
        f"<OpenSimDocument Version='20302'><InverseKinematicsTool name='t'>{inside}</InverseKinematicsTool>"
        "</OpenSimDocument>"
    )


def scale(inside: str) -> str:
    return f"<OpenSimDocument Version='40000'><ScaleTool name='t'>{inside}</ScaleTool></OpenSimDocument>"


def test_inverse_kinematics(write, tmp_path):
    """Protects weights and files: what is switched on, its weight, and paths from the setup's folder on."""
    text = ik(
        "<model_file> m.osim </model_file><marker_file>sub\\walk.trc</marker_file>"
        "<coordinate_file>Unassigned</coordinate_file><time_range> 0.4 1.6</time_range>"
        + tasks(
            MARKER.format("on", "true", "10"),
            MARKER.format("off", "false", "1"),
            "<IKMarkerTask name='plain'/>",
            "<IKCoordinateTask name='left'/>",
            COORDINATE.format("kept", "default_value"),
            COORDINATE.format("set", "manual_value"),
        )
    )
    setup = read_ik_setup(write("setup.xml", text))
    # as OpenSim 4.6 reads them: a task without a weight has none
    assert setup.tasks.markers == {"on": 10.0, "plain": 0.0}
    (note,) = setup.notes
    assert note.startswith("tasks without a weight, which have the weight 0 as in OpenSim")
    assert "plain, left" in note
    assert setup.tasks.coordinates == (
        CoordinateTask("left", 0.0, "default_value", 0.0),
        CoordinateTask("kept", 5.0, "default_value", 0.25),
        CoordinateTask("set", 5.0, "manual_value", 0.25),
    )
    assert setup.times == (0.4, 1.6)
    assert (setup.model_file, setup.marker_file) == (tmp_path / "m.osim", tmp_path / "sub" / "walk.trc")
    assert setup.coordinate_file is None


def test_without_times_it_is_the_whole_trial(write):
    """Protects setups that leave the times out."""
    assert read_ik_setup(write("setup.xml", ik(""))).times == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("inside", "what"),
    [
        (tasks("<IKPathTask name='a'/>"), "a IKPathTask has no counterpart"),
        (tasks(MARKER.format("a", "true", "-1")), "the weight is -1"),
        (tasks(MARKER.format("a", "true", "nan")), "nan is not a finite number"),
        (
            tasks(MARKER.format("a", "true", "1"), MARKER.format("a", "true", "1")),
            "two IK tasks have this name",
        ),
        (tasks(MARKER.format("", "true", "1")), "an IK task has no name"),
        (tasks(COORDINATE.format("a", "guess")), "unknown value_type 'guess'"),
        (tasks(COORDINATE.format("a", "from_file")), "the value of a comes from a coordinate_file"),
        ("<time_range>2 1</time_range>", "time_range 2 1"),
        ("<time_range>1</time_range>", "time_range 1"),
    ],
)
def test_tasks_that_cannot_be(write, inside, what):
    """Protects from fits with weights that nobody gave."""
    with pytest.raises(ConfigError, match=what):
        read_ik_setup(write("setup.xml", ik(inside)))


def test_another_tool_is_refused(write):
    """Protects from the wrong setup: what is in the file is named."""
    with pytest.raises(ConfigError, match="the file contains no InverseKinematicsTool, but ScaleTool"):
        read_ik_setup(write("setup.xml", scale("")))


MEASUREMENT = (
    "<Measurement name='{name}'><apply>{apply}</apply><MarkerPairSet><objects><MarkerPair><markers>{pair}"
    "</markers></MarkerPair></objects></MarkerPairSet><BodyScaleSet><objects><BodyScale name='leg'><axes>"
    "{axes}</axes></BodyScale></objects></BodyScaleSet></Measurement>"
)


def scaler(*measurements: str, order="measurements manualScale", scales="1 2 3", apply="true") -> str:
    return scale(
        f"<mass>70</mass><ModelScaler><apply>{apply}</apply><scaling_order>{order}</scaling_order>"
        f"<MeasurementSet><objects>{''.join(measurements)}</objects></MeasurementSet>"
        f"<ScaleSet><objects><Scale><scales>{scales}</scales><segment> arm </segment></Scale>"
        "</objects></ScaleSet><preserve_mass_distribution>true</preserve_mass_distribution></ModelScaler>"
    )


def test_scaling(write):
    """Protects measurements: pairs, bodies and axes, factors by hand, and how masses are shared."""
    long = MEASUREMENT.format(name="long", apply="true", pair=" a b ", axes="x Y")
    setup = read_scale_setup(
        write("setup.xml", scaler(long, long.replace("true", "false").replace("long", "off")))
    )
    assert setup.mass_kg == 70.0
    assert setup.placer is None
    assert setup.scaler.keep_mass_shares
    (measurement,) = setup.scaler.measurements
    assert measurement == ("long", (("a", "b"),), (("leg", "XY"),))
    assert setup.scaler.by_hand == (("arm", (1.0, 2.0, 3.0)),)
    assert setup.scaler.order == ("measurements", "manualScale")
    assert read_scale_setup(write("off.xml", scaler(apply="false"))).scaler is None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (scaler(MEASUREMENT.format(name="m", apply="true", pair="a a", axes="X")), "two different names"),
        (scaler(MEASUREMENT.format(name="m", apply="true", pair="a b c", axes="X")), "two different names"),
        (scaler(MEASUREMENT.format(name="m", apply="true", pair="a b", axes="X W")), "axes XW"),
        (scaler(order="guess"), "unknown scaling_order 'guess'"),
        (scaler(scales="1 0 1"), "scales 1 0 1"),
        (scaler(scales="1 1"), "scales needs 3 numbers"),
    ],
)
def test_scaling_that_cannot_be(write, text, what):
    """Protects from factors that nobody measured."""
    with pytest.raises(ConfigError, match=what):
        read_scale_setup(write("setup.xml", text))


def test_published_setups(shared):
    """Protects real files: those of gait2354, an OpenSim 2 document each."""
    folder = shared / "gait_opensim/gait2354"
    setup = read_ik_setup(folder / "subject01_Setup_IK.xml")
    assert len(setup.tasks.markers) == 31
    assert setup.tasks.markers["Top.Head"] == 0.1
    assert [task.name for task in setup.tasks.coordinates][:2] == ["subtalar_angle_r", "mtp_angle_r"]
    assert setup.marker_file == folder / "subject01_walk1.trc"
    of_scale = read_scale_setup(folder / "subject01_Setup_Scale.xml")
    assert of_scale.mass_kg == 72.6
    assert [m.name for m in of_scale.scaler.measurements] == ["torso", "pelvis", "thigh", "shank", "foot"]
    assert len(of_scale.placer.tasks.markers) == 39
    assert of_scale.placer.times == (1.0, 1.01)
