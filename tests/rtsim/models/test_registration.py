"""The knee's parts laid where a person's bones are: the mechanism can stand as the person stood."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.transform import Rotation

from kernels.solver.constraints import DISTANCE
from rtsim.config.models.force_schema import Ligament
from rtsim.config.models.muscle_schema import Station, WrappingSurface
from rtsim.config.models.place_schema import Frame, Place
from rtsim.config.paths import find_config
from rtsim.errors import ConfigError
from rtsim.models.load import load_model
from rtsim.models.model import Model, build
from rtsim.models.packing.elements import scalar_elements
from rtsim.models.registration import pose_at, registered, turned
from rtsim.models.roles import roles_of
from rtsim.subjects.anatomy import Anatomy
from rtsim.subjects.both_sides import one_side, symmetric
from rtsim.subjects.subject import Subject, load_subject, save_subject

replace = msgspec.structs.replace
STOOD = (-4.0, 3.5, -19.0)
MECHANISM = ("medial", "lateral", "ACL", "PCL", "MCL")


@pytest.fixture(scope="module")
def walker() -> Subject:
    """The shipped subject, which no static trial was made of."""
    return load_subject(find_config("walker", "subjects"))


def who_stood(subject: Subject, angles: tuple[float, ...]) -> Subject:
    """The subject, its shank turned by these in the static trial."""
    shank = replace(subject.segments["shank"], in_parent_deg=angles)
    return replace(subject, segments={**subject.segments, "shank": shank})


def frame_turned(frame: Frame) -> np.ndarray:
    """The axes (3, 3) of a frame on its body."""
    return np.asarray(Rotation.from_euler("XYZ", frame.turned_deg, degrees=True).as_matrix())


def misfits(model: Model, target: np.ndarray, knee: np.ndarray, angles: np.ndarray, side: str) -> np.ndarray:
    """Of the mechanism with the shank's origin at the knee [m] and turned by angles (3,) [rad]."""
    R, found = turned(angles), []
    for name in MECHANISM:
        e = model.names.elements.index(name + side)
        gap = model.elements.point_a[e] - knee - R @ model.elements.point_b[e]
        is_rod = model.elements.kind[e] == DISTANCE
        held = np.linalg.norm(gap) if is_rod else gap @ R @ model.elements.normal_b[e]
        found.append(held - target[e])
    return np.array(found)


@pytest.mark.parametrize("angles", [STOOD, (8.0, -6.0, 12.0), (-30.0, 2.0, -5.0)])
def test_the_static_pose_is_one_of_the_mechanism(walker: Subject, angles: tuple[float, ...]) -> None:
    """Protects what registration is for: `zero` can stand as the person, however axes are twisted."""
    spec, person = load_model("lower_limb"), who_stood(walker, angles)
    target, stood = roles_of(spec, "zero", person).target, np.radians(angles)
    knee = -Anatomy(spec, person).bases["thigh"][:, 1]
    model = build(spec, person, "zero")
    assert np.abs(misfits(model, target, knee, stood, "")).max() < 1e-9
    assert np.abs(misfits(build(spec, walker, "zero"), target, knee, stood, "")).max() > 1e-3
    assert model.registered == ("shank",)


def test_an_ankle_is_registered_about_its_centre(walker: Subject) -> None:
    """Protects a mechanism about a ball: its centre on the foot goes along, so that the foot can stand as it
    stood, its origin at the ankle."""
    spec, angles = load_model("lower_limb"), (6.0, -12.0, 8.0)
    bodies = tuple(
        replace(body, registered_by=("TiCaL", "CaFiL")) if body.name == "foot" else body
        for body in spec.bodies
    )
    spec = replace(spec, bodies=bodies)
    foot = replace(walker.segments["foot"], in_parent_deg=angles)
    person = replace(walker, segments={**walker.segments, "foot": foot})
    ankle, R = -Anatomy(spec, person).bases["shank"][:, 1], turned(np.radians(angles))
    for who, fits in ((person, True), (walker, False)):
        model, target = build(spec, who, "zero"), roles_of(spec, "zero", who).target
        j = model.names.bodies.index("foot")
        centre = model.tree.position_in_parent[j] - ankle - R @ model.tree.position_in_child[j]
        off = [np.linalg.norm(centre)]
        for name in ("TiCaL", "CaFiL"):
            e = model.names.elements.index(name)
            gap = model.elements.point_a[e] - ankle - R @ model.elements.point_b[e]
            off.append(np.linalg.norm(gap) - target[e])
        assert (np.abs(off).max() < 1e-9) == fits
        assert model.registered == (("foot",) if fits else ())


def test_both_legs_are_registered_as_mirror_images(walker: Subject) -> None:
    """Protects the left side: angles about x and y turn round in the mirror, about z they do not."""
    spec, person = load_model("both_legs"), symmetric(who_stood(walker, STOOD))
    assert_allclose(person.segments["shank_l"].in_parent_deg, (STOOD[0], -STOOD[1], -STOOD[2]))
    assert_allclose(one_side(person, "left").segments["shank"].in_parent_deg, STOOD)
    model, target = build(spec, person, "zero"), roles_of(spec, "zero", person).target
    assert model.registered == ("shank_r", "shank_l")
    for side in ("_r", "_l"):
        knee = -Anatomy(spec, person).bases[f"thigh{side}"][:, 1]
        stood = np.radians(person.segments[f"shank{side}"].in_parent_deg)
        assert np.abs(misfits(model, target, knee, stood, side)).max() < 1e-9


def test_the_mechanism_stays_what_it_is(walker: Subject) -> None:
    """Protects the published knee: one turn and shift for all parts on the tibia, the rest as printed, and
    nothing is moved where nobody stood."""
    spec = load_model("lower_limb")
    printed, laid = build(spec, walker, "zero"), build(spec, who_stood(walker, STOOD), "zero")
    assert printed.registered == ()
    assert_allclose(laid.lengths.neutral, printed.lengths.neutral, rtol=1e-15)
    assert_array_equal(laid.elements.point_a, printed.elements.point_a)
    moves = [printed.names.elements.index(name) for name in (*MECHANISM, "LCL")]
    stays = [e for e in range(len(printed.names.elements)) if e not in moves]
    assert_array_equal(laid.elements.point_b[stays], printed.elements.point_b[stays])
    before, after = printed.elements.point_b[moves], laid.elements.point_b[moves]
    apart = [np.linalg.norm(x[:, None] - x[None], axis=2) for x in (before, after)]
    assert_allclose(apart[1], apart[0], atol=1e-14)
    assert np.linalg.norm(after - before, axis=1).max() > 5e-3
    at_normals = [
        np.einsum("ei,fi->ef", model.elements.normal_b[moves], x)
        for model, x in ((printed, before), (laid, after))
    ]
    assert_allclose(*(x - x[:, :1] for x in at_normals), atol=1e-14)


def test_the_parts_are_moved_as_one_piece(walker: Subject) -> None:
    """Protects frames, moving surfaces and bent paths of a registered joint: what is fixed to one of its
    parts stays where it is on the others."""
    spec, person = load_model("lower_limb"), who_stood(walker, STOOD)
    medial = spec.contacts[0]
    belt = replace(medial, plane=replace(medial.b, velocity_mm_s=(30.0, 10.0, -20.0)))
    egg = replace(medial.a, segment="shank", origin="proximal", radius_mm=None, radii_mm=(9.0, 8.0, 7.0),
                  turned_deg=(20.0, -30.0, 40.0))  # fmt: skip
    pressed = replace(medial, name="egg", stiffness=1e6, ellipsoid=egg,
                      plane=replace(medial.b, segment="thigh", origin="distal"))  # fmt: skip
    stations = (Station("shank", offset_mm=(5.0, -20.0, 8.0)), Station("thigh", offset_mm=(1.0, 2.0, 3.0)))
    band = Ligament(
        "band", Place("thigh", "distal"), Place("shank"), stations, stiffness_N=1e3, slack_length_mm=30.0
    )
    spec = replace(spec, contacts=(belt, spec.contacts[1], pressed), ligaments=(*spec.ligaments, band))
    laid, on_bones = registered(spec, Anatomy(spec, person), person)
    assert on_bones == ["shank"]
    before, after = spec.contacts[0].b, laid.contacts[0].b
    R, _ = Rotation.align_vectors([after.normal, after.velocity_mm_s], [before.normal, before.velocity_mm_s])
    assert np.degrees(R.magnitude()) > 10.0
    assert_allclose(R.apply(before.normal), after.normal, atol=1e-12)
    assert_allclose(R.apply(before.velocity_mm_s), after.velocity_mm_s, atol=1e-12)
    frame = R.as_matrix() @ frame_turned(egg)
    assert_allclose(frame_turned(laid.contacts[2].a), frame, atol=1e-12)
    path, end = laid.ligaments[-1].through, np.array(laid.ligaments[-1].b.offset_mm)
    assert_allclose(np.array(path[0].offset_mm) - end, R.apply(stations[0].offset_mm), atol=1e-9)
    assert path[1] == stations[1]


def test_a_surface_of_muscles_is_not_moved_with_a_joint(walker: Subject) -> None:
    """Protects from a ligament torn in two: over a surface of the moved bone it cannot be placed."""
    spec, person = load_model("lower_limb"), who_stood(walker, STOOD)
    surface = WrappingSurface(name="plateau", kind="sphere", segment="shank", radius_mm=10.0)
    band = Ligament(
        "band",
        Place("thigh"),
        Place("shank"),
        (Station(over="plateau"),),
        stiffness_N=1e3,
        slack_length_mm=30.0,
    )
    spec = replace(spec, surfaces=(*spec.surfaces, surface), ligaments=(*spec.ligaments, band))
    with pytest.raises(ConfigError, match=r"ligaments\.band\.through: band goes over the surface plateau"):
        build(spec, person, "zero")
    assert build(spec, walker, "zero").registered == ()


def test_solutions_stay_in_the_assembly_of_the_straight_joint(walker: Subject) -> None:
    """Protects against the mechanism's other assembly, which comes within a degree of it near 12 degrees."""
    spec = load_model("lower_limb")
    body = next(body for body in spec.bodies if body.registered_by)
    rows = [row for row in scalar_elements(spec) if row.record in body.registered_by]
    turns = []
    for flexion in np.radians(np.arange(0.0, -46.0, -3.0)):
        found = pose_at(rows, Anatomy(spec, walker), body, float(flexion))
        assert found is not None
        turns.append(np.degrees(found[1]))
    # the natural motion turns inwards by 10 degrees in the first 20 of flexion, then hardly any more
    assert_allclose([turns[0], turns[-1]], [4.43, 15.83], atol=0.01)
    assert np.all(np.diff(turns) > 0.0)
    assert np.diff(turns).max() < 2.0


def test_a_pose_that_the_mechanism_cannot_have_is_refused(walker: Subject) -> None:
    """Protects a subject's file written by hand from a knee that is published in silence."""
    with pytest.raises(ConfigError, match=r"in_parent_deg: in the standing pose the joint is bent by 170"):
        build(load_model("lower_limb"), who_stood(walker, (-170.0, 0.0, 0.0)), "zero")


def test_a_subject_file_keeps_how_the_person_stood(walker: Subject, tmp_path) -> None:
    """Protects saved subjects: solved later, they have the knee that they had at calibration."""
    person = who_stood(walker, STOOD)
    save_subject(tmp_path / "person.toml", person)
    assert load_subject(tmp_path / "person.toml") == person
    assert load_subject(find_config("walker", "subjects")).segments["shank"].in_parent_deg is None


def test_parts_that_are_not_there_cannot_register() -> None:
    """Protects a model's author from a name that stands for nothing."""
    spec = load_model("lower_limb")
    bodies = tuple(
        replace(body, registered_by=("middle",)) if body.registered_by else body for body in spec.bodies
    )
    with pytest.raises(ValueError, match=r"registered_by.*middle"):
        replace(spec, bodies=bodies)
