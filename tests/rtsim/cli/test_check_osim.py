"""`rtsim check MODEL.osim`: what was understood and what left out, and one sentence for what cannot be."""

from __future__ import annotations

import pytest

from tests.rtsim.files.osim_texts import (
    CHAIN,
    CHAIN_MUSCLES,
    GROUND,
    LINE,
    ZERO,
    Coordinate,
    Joint,
    Model,
    Muscle,
    Point,
    spatial_transform,
    transform_axis,
)

COUPLER = (
    "<CoordinateCouplerConstraint name='k'><coupled_coordinates_function><LinearFunction><coefficients>"
    "0.5 0.1</coefficients></LinearFunction></coupled_coordinates_function><independent_coordinate_names>pin"
    "</independent_coordinate_names><dependent_coordinate_name>bend</dependent_coordinate_name>"
    "</CoordinateCouplerConstraint>"
)
PIN = Joint("PinJoint", GROUND, "a", (Coordinate("p"),))
WHOLE = Model((PIN,), (Muscle("m", (Point("a", "0 0 0"), Point(GROUND, "0 1 0"))),)).text(40600)


def with_function(function: str) -> str:
    axes = [transform_axis(f"rotation{k}", axis) for k, axis in ((2, "0 1 0"), (3, "1 0 0"))]
    axes += [transform_axis(f"translation{k}", axis) for k, axis in ((2, "0 1 0"), (3, "0 0 1"))]
    transform = spatial_transform(
        transform_axis("rotation1", "0 0 1", "p", LINE),
        *axes,
        transform_axis("translation1", "1 0 0", "p", function),
    )
    return Model((Joint("CustomJoint", GROUND, "a", (Coordinate("p"),), transform),)).text(40600)


def test_what_was_understood(here, tmp_path):
    """Protects users of foreign files: coordinates and what becomes of them, and everything left out."""
    joints = (
        *CHAIN[:5],
        CHAIN[5],
        Joint("PinJoint", "f", "g", (Coordinate("stiff", 0.2, locked=True),)),
        Joint("PinJoint", "g", "h", (Coordinate("held", more="<clamped>true</clamped>"),)),
    )
    path = tmp_path / "a.osim"
    text = Model(joints, CHAIN_MUSCLES, constraints=COUPLER, forces="<BushingForce name='bush'/>").text(40600)
    path.write_text(text)
    done = here("check", str(path))
    assert done.code == 0, done.err
    for words in (
        "model small: 8 bodies, 2 couplers, 3 muscles",
        "14 coordinates: pin, slide",
        "locked at a constant value: stiff",
        "determined by another coordinate: bend (by pin)",
        "clamped to their range when markers are fitted: held",
        "the model has no markers",
        "note: forces left out: BushingForce bush",
    ):
        assert words in done.out, words


def test_a_body_without_mass_is_told(here, tmp_path):
    """Protects dynamics: what moves no mass is named, as OpenSim refuses the whole model."""
    path = tmp_path / "a.osim"
    path.write_text(WHOLE.replace("<mass>2</mass>", "<mass>0</mass>"))
    done = here("check", str(path))
    assert done.code == 0
    assert "do not move any mass, so they have no inverse dynamics and cannot be simulated: a" in done.out
    done = here("simulate", str(path))
    assert done.code == 1
    assert "does not move any mass" in done.err


BOMB = "<!DOCTYPE x [<!ENTITY a 'aa'><!ENTITY b '&a;&a;'>]>"
OUTSIDE = "<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/hostname'>]>"
BAD = {
    "not XML": ("\x89PNG\r\n", "not valid XML"),
    "nothing": ("", "not valid XML"),
    "truncated": (WHOLE[: len(WHOLE) // 2], "not valid XML"),
    "another document": ("<svg/>", "the root element is svg"),
    "entities": (WHOLE.replace("<OpenSimDocument", BOMB + "<OpenSimDocument"), "document type"),
    "outside entities": (WHOLE.replace("<OpenSimDocument", OUTSIDE + "<OpenSimDocument"), "document type"),
    "a ring of joints": (
        Model((Joint("PinJoint", "b", "a", (Coordinate("p"),)), Joint("WeldJoint", "a", "b"))).text(40600),
        "carry each other in a closed loop",
    ),
    "a body that is not there": (WHOLE.replace("/bodyset/a", "/bodyset/x", 1), "unknown frame '/bodyset/x'"),
    "a frame on itself": (
        WHOLE.replace("<socket_parent>/bodyset/a<", "<socket_parent>../a_offset<"), "is fixed to itself"
    ),
    "two joints of a body": (
        Model((PIN, Joint("WeldJoint", GROUND, "a"))).text(30000), "a second body of this name"
    ),
    "no number": (WHOLE.replace("<mass>2<", "<mass>heavy<"), "'heavy' does not consist of numbers"),
    "NaN": (WHOLE.replace("<mass>2<", "<mass>nan<"), "nan is not a finite number"),
    "infinite": (WHOLE.replace("0.01 0.02 0.03", "0.01 inf 0.03"), "inf is not a finite number"),
    "too few numbers": (WHOLE.replace("<location>0 0 0<", "<location>0 0<"), "location needs 3 numbers"),
    "a negative mass": (WHOLE.replace("<mass>2<", "<mass>-2<"), "the mass is -2 kg"),
    "a planet": (WHOLE.replace("<mass>2<", "<mass>1e24<"), "mass_kg: 1e+24 is out of range"),
    "a negative inertia": (WHOLE.replace("0.1 0.11", "-0.1 0.11"), "principal moment of inertia is negative"),
    "lengths in inches": (
        WHOLE.replace("<gravity>", "<length_units>inches</length_units><gravity>"), "lengths in inches"
    ),
    "two muscles of a name": (
        Model((PIN,), 2 * (Muscle("m", (Point("a", ZERO), Point(GROUND, "0 1 0"))),)).text(40600),
        "'m' occurs more than once",
    ),
    "two coordinates of a name": (
        Model((PIN, Joint("PinJoint", "a", "b", (Coordinate("p"),)))).text(40600),
        "'p' occurs more than once",
    ),
    "a joint of another kind": (
        WHOLE.replace("PinJoint", "ScapulothoracicJoint"), "a ScapulothoracicJoint has no counterpart"
    ),
    "a step": (with_function("<StepFunction/>"), "a StepFunction has no counterpart"),
    "no pieces": (with_function("<PiecewiseLinearFunction/>"), "0 values of x but 0 values of y; allowed"),
    "a spline of one knot": (with_function("<SimmSpline><x>1</x><y>1</y></SimmSpline>"), "two or more pairs"),
    "a spline that goes back": (
        with_function("<SimmSpline><x>0 2 1</x><y>1 2 3</y></SimmSpline>"), "2 to 1; the values of x must"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_is_one_sentence(here, tmp_path, name):
    """Protects from crashes and silence: each fault of a file is one sentence with the file's name."""
    text, words = BAD[name]
    path = tmp_path / "bad.osim"
    path.write_text(text, encoding="utf-8")
    done = here("check", str(path))
    assert done.code == 1
    assert done.out == ""
    assert words in done.err
    assert "bad.osim" in done.err
    assert "Traceback" not in done.err
    assert done.err.count("\n") <= 2  # the second line counts the configs


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        (
            "gait_opensim/gait2354/subject01_simbody.osim",
            "left calcn_l with talus_l, toes_l, heel at L.Heel",
        ),
        ("osim_models/arm26.osim", "force plates cannot be assigned to feet: the model has no foot"),
    ],
)
def test_feet_for_force_plates_are_told(here, shared, folder, words):
    """Protects whoever has plates: which bodies they would press, or that there is none, before a run."""
    done = here("check", shared / "data" / folder)
    assert done.code == 0
    assert words in done.out
