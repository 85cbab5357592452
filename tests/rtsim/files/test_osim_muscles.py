"""OpenSim's path points and Hill parameters as those of a model."""

from __future__ import annotations

import math

import pytest

from rtsim.errors import ConfigError
from rtsim.files.osim.document import Aloud
from rtsim.files.osim.model import read_osim
from rtsim.models.packing.functions import function_of, value

from .osim_texts import CHAIN, CHAIN_MUSCLES, GROUND, LINE, SPLINE, Model, Muscle, Point

ENDS = (Point(GROUND, "0.1 0 0"), Point("g", "0 0.1 0"))
FIXED = "<Constant><value>{}</value></Constant>"


@pytest.fixture
def read(write):
    """Reader of a model with some muscles on the chain."""

    def read(*muscles, forces="", version=40000):
        return read_osim(write("small.osim", Model(CHAIN, muscles, forces=forces).text(version)))

    return read


def moving(*functions):
    """A muscle that ends at a moving point."""
    return Muscle("m", (ENDS[0], Point("f", moving=("f_joint", "bend", *functions))))


def hill(read, kind, more=""):
    """Hill parameters of a muscle of a class, and the notes."""
    spec, notes = read(Muscle("m", ENDS, kind=kind, more=more))
    return spec.muscles[0].hill, notes


@pytest.mark.parametrize("version", [30000, 40000])
def test_points(read, version):
    """Protects paths: fixed, conditional and moving points on their bodies, in metres and in order."""
    spec, _ = read(*CHAIN_MUSCLES, version=version)
    long, switched, moved = spec.muscles
    assert [station.segment for station in long.path] == [GROUND, "g"]
    assert long.path[0].offset_mm == pytest.approx((100.0, 200.0, 300.0))
    assert switched.path[1].within.coordinate == "bend"
    # wider by OpenSim's tolerance
    assert switched.path[1].within.range == pytest.approx((0.1 - 1e-5, 1.2 + 1e-5), rel=1e-14)
    point = moved.path[1].moving
    assert point.of == "bend"
    assert [value(function_of(f), 0.5) for f in (point.y, point.z)] == [0.5, 0.1]


def test_condition_on_a_translation(read):
    """Protects units: the range of a sliding coordinate is in metres in the file."""
    switch = Point("d", "0 0 0", within=("f_joint", "glide", "-0.1 0.2"))
    within = read(Muscle("m", (ENDS[0], switch, ENDS[1])))[0].muscles[0].path[1].within
    assert within.range == pytest.approx((-0.1 - 1e-5, 0.2 + 1e-5), rel=1e-14)
    assert within.range_deg is None


def test_moving_point_that_stands_still(read):
    """Protects from functions where none is needed: three constants are a fixed point."""
    spec, _ = read(moving(*(FIXED.format(x) for x in (0.1, 0.2, 0.3))))
    assert spec.muscles[0].path[1].offset_mm == pytest.approx((100.0, 200.0, 300.0))


def test_constant_axis_may_name_any_coordinate(write):
    """Protects models whose constant axes name other coordinates: only those that move count."""
    text = Model(CHAIN, (moving(SPLINE, FIXED.format(0.1), LINE),)).text(30000)
    text = text.replace("<y_coordinate>bend<", "<y_coordinate>pin<")
    spec, _ = read_osim(write("text.osim", text))
    assert spec.muscles[0].path[1].moving.of == "bend"


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("<x_coordinate>bend<", "<x_coordinate>pin<", "depends on several coordinates: bend and pin"),
        ("<x_coordinate>bend<", "<x_coordinate>none<", "unknown coordinate 'none'"),
        (f"<x_location>{SPLINE}</x_location>", "", "x_location has no function"),
        ("<body>f</body>", "<body>nobody</body>", "unknown frame 'nobody'"),
        ("<body>f</body>", "", "body is missing"),
        ("<location>0.1 0 0</location>", "", "location needs 3 numbers"),
        ("<location>0.1 0 0</location>", "<location>0.1 0</location>", "2 numbers"),
    ],
)
def test_points_that_cannot_be(write, old, new, what):
    """Protects from a wrong path: what a point lacks or names wrongly is said, with its place in the file."""
    text = Model(CHAIN, (moving(SPLINE, SPLINE, FIXED.format(0.1)),)).text(30000)
    assert old in text
    with pytest.raises(ConfigError, match=what):
        read_osim(write("text.osim", text.replace(old, new)))


def test_unknown_kind_of_point_is_refused(write):
    """Protects from points that would be taken for fixed ones."""
    text = Model(CHAIN, (Muscle("m", ENDS),)).text(40000)
    with pytest.raises(ConfigError, match="OddPathPoint has no counterpart"):
        read_osim(
            write(
                "text.osim",
                text.replace("PathPoint name", "OddPathPoint name").replace(
                    "</PathPoint>", "</OddPathPoint>"
                ),
            )
        )


def test_muscle_without_points_is_refused(write):
    """Protects from paths by functions alone, which have no points."""
    text = Model(CHAIN, (Muscle("m", ENDS),)).text(40000)
    with pytest.raises(ConfigError, match=r"Thelen2003Muscle m.*no GeometryPath"):
        read_osim(write("text.osim", text.replace("GeometryPath", "FunctionBasedPath")))


NUMBERS = (
    "<max_isometric_force>500</max_isometric_force><optimal_fiber_length>0.1</optimal_fiber_length>"
    "<tendon_slack_length>0.2</tendon_slack_length><pennation_angle_at_optimal>0.3</pennation_angle_at_optimal>"
    "<max_contraction_velocity>8</max_contraction_velocity>"
)


@pytest.mark.parametrize(
    "kind",
    [
        "Thelen2003Muscle", "Millard2012EquilibriumMuscle", "Millard2012AccelerationMuscle",
        "DeGrooteFregly2016Muscle", "RigidTendonMuscle", "Schutte1993Muscle_Deprecated",
        "Delp1990Muscle_Deprecated",
    ],
)  # fmt: skip
def test_every_class_of_muscle(read, kind):
    """Protects Hill parameters: five numbers of every class, in the units of the model."""
    found, notes = hill(read, kind, NUMBERS)
    assert found.max_isometric_force_N == 500.0
    assert found.optimal_fibre_length_mm == pytest.approx(100.0)
    assert found.tendon_slack_length_mm == pytest.approx(200.0)
    assert found.pennation_deg == pytest.approx(math.degrees(0.3))
    assert found.max_contraction_speed == 8.0
    assert found.tendon == ("rigid" if kind == "RigidTendonMuscle" else "elastic")
    assert any(kind in note and "curves" in note for note in notes)


@pytest.mark.parametrize(
    ("kind", "strain", "times"),
    [
        ("Thelen2003Muscle", 0.04, (15.0, 50.0)),
        ("Millard2012EquilibriumMuscle", 0.049, (10.0, 40.0)),
        ("DeGrooteFregly2016Muscle", 0.049, (15.0, 60.0)),
    ],
)
def test_what_a_class_assumes(read, kind, strain, times):
    """Protects files that state only what differs: the class's own values hold (printed by OpenSim 4.6)."""
    found, _ = hill(read, kind)
    assert (found.max_isometric_force_N, found.optimal_fibre_length_mm) == (1000.0, 100.0)
    assert found.tendon_strain == pytest.approx(strain)
    assert (found.activation_ms, found.deactivation_ms) == pytest.approx(times)


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("Thelen2003Muscle", "<FmaxTendonStrain>0.033</FmaxTendonStrain>"),
        (
            "Millard2012EquilibriumMuscle",
            "<TendonForceLengthCurve><strain_at_one_norm_force>0.033</strain_at_one_norm_force>"
            "</TendonForceLengthCurve>",
        ),
        (
            "DeGrooteFregly2016Muscle",
            "<tendon_strain_at_one_norm_force>0.033</tendon_strain_at_one_norm_force>",
        ),
    ],
)
def test_tendon_strain(read, kind, more):
    """Protects tendon compliance, which every class writes elsewhere."""
    assert hill(read, kind, more)[0].tendon_strain == 0.033


def test_tendon_and_damping(read):
    """Protects forward simulation: rigid where compliance is ignored or there is no tendon, damped always."""
    kind = "Millard2012EquilibriumMuscle"
    ignored = "<ignore_tendon_compliance>true</ignore_tendon_compliance>"
    assert hill(read, kind, ignored)[0].tendon == "rigid"
    assert hill(read, kind, "<tendon_slack_length>0</tendon_slack_length>")[0].tendon == "rigid"
    assert hill(read, kind, "<fiber_damping>0.05</fiber_damping>")[0].fibre_damping == 0.05
    undamped, notes = hill(read, kind, "<fiber_damping>0</fiber_damping>")
    assert undamped.fibre_damping > 0.0
    assert any("no fibre damping" in note for note in notes)


def test_muscles_without_activation_dynamics_are_told(read):
    """Protects from a delay that the model does not have: muscles activated at once are named."""
    ignored = "<ignore_activation_dynamics>{}</ignore_activation_dynamics>"
    muscles = [
        Muscle(name, ENDS, kind="Millard2012EquilibriumMuscle", more=ignored.format(said))
        for name, said in (("first", "true"), ("second", "true"), ("third", "false"))
    ]
    _, notes = read(*muscles)
    (note,) = (note for note in notes if "ignore_activation_dynamics" in note)
    assert "first, second" in note
    assert "third" not in note
    assert isinstance(note, Aloud)


@pytest.mark.parametrize(
    "off",
    [
        "<appliesForce>false</appliesForce>", "<isDisabled>true</isDisabled>",
        "<max_isometric_force>0</max_isometric_force>",
    ],
)  # fmt: skip
def test_muscle_without_force_keeps_its_path(read, off):
    """Protects moment arms of muscles that are switched off: a path, no force, and a note."""
    spec, notes = read(Muscle("m", ENDS, more=off))
    assert spec.muscles[0].hill is None
    assert len(spec.muscles[0].path) == 2
    assert any("switched off" in note for note in notes)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("<optimal_fiber_length>-0.1</optimal_fiber_length>", "optimal_fiber_length -0.1; allowed: above 0"),
        (
            "<max_contraction_velocity>0</max_contraction_velocity>",
            "max_contraction_velocity 0; allowed: above 0",
        ),
        ("<pennation_angle_at_optimal>1.6</pennation_angle_at_optimal>", "pennation_angle_at_optimal 1.6"),
        ("<minimum_activation>1</minimum_activation>", "minimum_activation 1; allowed: 0 or more, below 1"),
        ("<max_isometric_force>-5</max_isometric_force>", "max_isometric_force -5; allowed: 0 or more"),
    ],
)
def test_bad_parameters_are_refused(read, more, words):
    """Protects who corrects a file: the muscle's name and OpenSim's own key, and what is allowed."""
    with pytest.raises(ConfigError, match=f"Muscle m: {words}"):
        read(Muscle("m", ENDS, more=more))


def test_frames_of_another_class_are_named(write):
    """Protects models with frames that stations define: their class is named, and a remedy."""
    body = ENDS[-1].body
    text = Model(CHAIN, (Muscle("m", ENDS),)).text(40000)
    frame = '<components><StationDefinedFrame name="s"/></components>'
    text = text.replace(f'<Body name="{body}">', f'<Body name="{body}">{frame}')
    there = text.replace(f"<socket_parent_frame>/bodyset/{body}<", f"<socket_parent_frame>/bodyset/{body}/s<")
    assert there != text
    with pytest.raises(ConfigError, match="is a StationDefinedFrame, which has no counterpart"):
        read_osim(write("small.osim", there))
