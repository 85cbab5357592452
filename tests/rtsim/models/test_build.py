"""Building: model, subject and method become kernel parameters, or a sentence about what does not fit."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.joints.kinds import BALL, FREE, HINGE, LAYOUTS
from kernels.joints.tree import Tree
from kernels.solver.constraints import HARD, OFF, SOFT, SPHERE_ON_PLANE
from rtsim.cli.commands.check import check_config
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.models.model_tables import MethodSpec
from rtsim.config.paths import configs_root, find_config
from rtsim.errors import ConfigError
from rtsim.models.load import load_model
from rtsim.models.model import build, build_each
from rtsim.models.packing.elements import path_between
from rtsim.models.packing.joints import neutral_coordinates
from rtsim.models.roles import roles_of
from rtsim.subjects.anatomy import Anatomy
from rtsim.subjects.subject import Subject, load_subject
from tests.naive import constraints
from tests.naive.random_models import random_tree
from tests.naive.tree import integrate, state

Array = NDArray[np.float64]
MODEL = (configs_root() / "models" / "lower_limb.toml").read_text(encoding="utf-8")
METHODS = ("zero", "minimised", "prescribed", "hinge", "ball", "free")


@pytest.fixture(scope="module")
def spec() -> ModelSpec:
    return load_model("lower_limb")


@pytest.fixture(scope="module")
def subject() -> Subject:
    return load_subject(find_config("walker", "subjects"))


def change_segment(subject: Subject, name: str, **change: object) -> Subject:
    """The subject with one segment changed."""
    segment = msgspec.structs.replace(subject.segments[name], **change)
    return msgspec.structs.replace(subject, segments={**subject.segments, name: segment})


def distance(tree: Tree, q: NDArray[np.floating], a: tuple[int, Array], b: tuple[int, Array]) -> float:
    """Distance of two points, each of a body [m]."""
    at = state(tree, q)
    return float(np.linalg.norm(at.point(*a) - at.point(*b)))


HEAD = '[[surfaces]]\nname = "femoral_head"'
ISOMETRIC = "length = { target_mm = 28.46189427989641 }"
ROD = '[[elements]]\nname = "rod"\na = { segment = "thigh" }\nb = { segment = "shank" }\n'
# what is written wrong in the shipped model, and the words that must be said
MISTAKES = {
    "hard element": ('hard = ["TiCaL", "CaFiL"]\njoints', 'hard = ["TiCoL"]\njoints', ("TiCoL", "TiCaL")),
    "soft element": ("soft = { ACL = 1e3,", "soft = { AKL = 1e3,", ("AKL", "ACL")),
    "segment of an element": (
        'a = { segment = "thigh", origin = "distal", offset_mm = [-6.7712',
        'a = { segment = "tigh", origin = "distal", offset_mm = [-6.7712',
        ("ACL", "tigh", "thigh"),
    ),
    "segment of a scale": ('0.275, 9.531], scaled = { offset_mm = [-5.1, -20.6, -0.3], segment = "shank"',
                           '0.275, 9.531], scaled = { offset_mm = [-5.1, -20.6, -0.3], segment = "shnk"',
                           ("shnk", "shank")),
    "landmark": ('point = "hip_centre"', 'point = "hip_center"', ("hip_center", "pelvis", "thigh")),
    "parent": ('parent = "thigh"', 'parent = "tigh"', ("shank", "tigh")),
    "parent that comes later": ('parent = "pelvis"', 'parent = "foot"', ("thigh", "foot")),
    "its own parent": ('parent = "thigh"', 'parent = "shank"', ("shank",)),
    "body twice": ('name = "foot"', 'name = "shank"', ("shank",)),
    "element twice": ('name = "PCL"', 'name = "ACL"', ("ACL",)),
    "joint of no body": ('joints = { shank = "hinge" }', 'joints = { knee = "hinge" }', ("knee", "shank")),
    "method to follow": ('follows = "zero"', 'follows = "zerro"', ("zerro", "zero")),
    "contact": ('hard = ["medial", "lateral", "Ti', 'hard = ["medal", "lateral", "Ti', ("medal", "medial")),
    "ellipsoid that is held": ("radius_mm = 32.32", "radii_mm = [32.0, 32.0, 31.0]", ("medial", "radius_mm")),
    "ligament without length": (ISOMETRIC, "stiffness_N = 1.0\nslack_length_mm = 9.0",
                                ("ligaments.CaFiL.length", "target_mm")),
    "ligament that does nothing": (ISOMETRIC, "", ("CaFiL", "no effect", "stiffness_N")),
    "slack without a law": (ISOMETRIC, ISOMETRIC + "\nslack_length_mm = 9.0", ("CaFiL", "slack_length_mm")),
    "friction without a law": ("-0.1273] }", "-0.1273] }\nfriction = { static = 0.1 }",
                               ("contacts.medial.stiffness",)),
    "flexion": ('flexion = "knee_flexion"', 'flexion = "knee_bending"', ("knee_bending", "knee_flexion")),
    "key of earlier files": ("\nflexion =", '\ndisplacement = "shank"\nflexion =',
                             ("displacement", "remove this key")),
    "list of earlier files": ("\nflexion =", '\ncontact_elements = ["medial"]\nflexion =',
                              ("contact_elements", "[[contacts]]")),
    "element of earlier files": (HEAD, ROD + 'kind = "distance"\nmean_mm = 3.0\n' + HEAD,
                                 ("elements[0]", "mean_mm", "[[ligaments]]", "length")),
    "kind of earlier files": (HEAD, ROD + 'kind = "sphere_on_plane"\n' + HEAD,
                              ("sphere_on_plane", "[[contacts]]", "radius_mm")),
    "target": ("target_mm = 40.53\nmean_mm = 40.62\n", "", ("ACL", "target_mm")),
    "target of nothing": ("target_mm = 129.70\nmean_mm = 129.80", "target_mm = 0.0",
                          ("ligaments[2].length.target_mm",)),
    "normal": (", normal = [0.0675, 0.9896, -0.1273]", "", ("contacts[0].plane", "normal")),
    "no normal": ("normal = [0.0675, 0.9896, -0.1273]", "normal = [0.0, 0.0, 0.0]", ("medial", "normal")),
    "one direction twice": ('angles = { proximal = ["w", "u"], distal = ["v", "w"]',
                            'angles = { proximal = ["w", "w"], distal = ["v", "w"]', ("thigh",)),
    "angles of a root": ('name = "pelvis"\njoint = "free"',
                         'name = "pelvis"\njoint = "free"\n'
                         'angles = { proximal = ["w", "u"], distal = ["v", "w"], names = ["a", "b", "c"] }',
                         ("pelvis", "without a parent")),
    "too many coefficients": ("1.3559e-14]", "1.3559e-14, 1e-16]", ("8", "7")),
}  # fmt: skip


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_model_that_contradicts_itself_is_refused(tmp_path, kind):
    """Protects the author of a model: every name that is none is told by `rtsim check` in a sentence."""
    right, wrong, words = MISTAKES[kind]
    assert right in MODEL
    path = tmp_path / "mine.toml"
    path.write_text(MODEL.replace(right, wrong), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        check_config(path)
    said = str(caught.value)
    assert "\n" not in said
    assert all(word in said for word in words), said


def test_an_unknown_method_is_told_with_those_there_are(spec, subject):
    """Protects the user of --method."""
    with pytest.raises(
        ConfigError, match=r"unknown method 'best'.*zero, minimised, prescribed, hinge, ball, free"
    ):
        build(spec, subject, "best")


def test_a_subject_that_does_not_fit_is_refused(spec, subject):
    """Protects against subjects of another model: missing segment, missing landmark, no markers."""
    lame = {name: segment for name, segment in subject.segments.items() if name != "foot"}
    bare = {
        name: msgspec.structs.replace(segment, markers_mm={}) for name, segment in subject.segments.items()
    }
    for person, words in (
        (msgspec.structs.replace(subject, segments=lame), "foot"),
        (
            change_segment(subject, "pelvis", points_mm={}),
            "the subject's pelvis has no landmark 'hip_centre'",
        ),
        (msgspec.structs.replace(subject, segments=bare), "no markers"),
    ):
        with pytest.raises(ConfigError, match=words) as caught:
            build(spec, person, "zero")
        assert "calibrate again" in str(caught.value)


def test_a_marker_on_two_segments_is_refused(spec, subject):
    """Protects against one measured marker counted twice."""
    foot = subject.segments["foot"].markers_mm
    person = change_segment(subject, "foot", markers_mm={**foot, "RASI": (0.0, 0.0, 0.0)})
    with pytest.raises(ConfigError, match="RASI"):
        build(spec, person, "zero")


@pytest.mark.parametrize("angles", [(90.0, 90.0, 180.0), (90.0, 10.0, 10.0)], ids=["flat", "impossible"])
def test_a_segment_that_cannot_be_is_refused(spec, subject, angles):
    """Protects against angles between three directions that no three directions have."""
    alpha, beta, gamma = angles
    person = change_segment(subject, "shank", alpha_deg=alpha, beta_deg=beta, gamma_deg=gamma)
    with pytest.raises(ConfigError, match="shank"):
        build(spec, person, "zero")


@pytest.mark.parametrize("seed", range(5))
def test_paths_are_their_twin(seed):
    """Protects the sparsity of every constraint: the dofs between two bodies, in order, with their side."""
    tree = random_tree(np.random.default_rng(seed), 7)
    for a in range(7):
        for b in range(7):
            assert path_between(tree, a, b) == constraints.path_between(tree, a, b)


def test_paths_are_the_dofs_that_move_the_bodies_apart(spec, subject):
    """Protects paths against the motion itself: nudge each dof, see whether two points part."""
    tree = build(spec, subject, "zero").tree
    rng = np.random.default_rng(1)
    q = integrate(tree, neutral_coordinates(tree), rng.normal(scale=0.3, size=len(tree.dof_body)))
    for a, b in ((1, 2), (2, 3), (0, 3), (3, 1), (2, 2)):
        x, y = rng.normal(size=(2, 3))
        moving = set()
        rest = distance(tree, q, (a, x), (b, y))
        for dof in range(len(tree.dof_body)):
            nudge = np.zeros(len(tree.dof_body))
            nudge[dof] = 1e-4
            if abs(distance(tree, integrate(tree, q, nudge), (a, x), (b, y)) - rest) > 1e-9:
                moving.add(dof)
        assert {dof for dof, _ in path_between(tree, a, b)} == moving


def test_normals_are_unit_and_the_plane_stays(spec, subject):
    """Protects the contact planes: normals become unit, (a - b) . n = R holds as printed."""
    model = build(spec, subject, "zero")
    assert (model.elements.kind == SPHERE_ON_PLANE).sum() == 2
    for e, contact in enumerate(spec.contacts):
        printed = np.array(contact.b.normal)
        n = model.elements.normal_b[e]
        assert np.linalg.norm(n) == pytest.approx(1.0, abs=1e-15)
        np.testing.assert_allclose(np.cross(n, printed), 0.0, atol=1e-15)
        gap = roles_of(spec, "zero", subject).target[e] * n  # some a - b on the plane of unit normal
        assert gap @ printed == pytest.approx(1e-3 * contact.a.radius_mm, rel=1e-14)


@pytest.mark.parametrize("length", [396.4, 425.3, 300.0])
def test_ankle_offsets_grow_with_the_shank(spec, subject, length):
    """Protects the scaling of the ankle: constant part plus the part that grows with the shank's length."""
    person = change_segment(subject, "shank", length_mm=length)
    model = build(spec, person, "zero")
    constant, growing = np.array([1.553, 0.275, 9.531]), np.array([-5.1, -20.6, -0.3])
    sphere = 1e-3 * (constant + growing * length / 396.4)
    np.testing.assert_allclose(model.tree.position_in_child[3], sphere, rtol=1e-12)
    distal = -Anatomy(spec, person).bases["shank"][:, 1]
    np.testing.assert_allclose(model.tree.position_in_parent[3], distal + sphere, rtol=1e-12)
    assert np.linalg.norm(distal) == pytest.approx(1e-3 * length)
    e = model.names.elements.index("TiCaL")
    end = 1e-3 * (np.array([1.653, -17.121, -15.714]) + growing * length / 396.4)
    np.testing.assert_allclose(model.elements.point_b[e], end, rtol=1e-12)


def test_knee_places_are_the_printed_ones(spec, subject):
    """Protects table 1: offsets from the proximal or distal end, in metres, unscaled."""
    model = build(spec, subject, "zero")
    e = model.names.elements.index("MCL")
    distal = -Anatomy(spec, subject).bases["thigh"][:, 1]
    np.testing.assert_allclose(
        model.elements.point_a[e] - distal, [2.7608e-3, 5.7798e-3, -47.6279e-3], rtol=1e-12
    )
    np.testing.assert_allclose(model.elements.point_b[e], [2.1345e-3, -117.0682e-3, -5.7872e-3], rtol=1e-12)
    length = np.linalg.norm([2.7608 - 2.1345, 5.7798 + 117.0682, -47.6279 + 5.7872])
    assert model.lengths.neutral[e] == pytest.approx(1e-3 * length)


def test_methods_choose_hard_soft_and_off(spec, subject):
    """Protects table 3: which elements hold exactly, which are weighed and how, which are out."""
    names = build(spec, subject).names.elements
    roles = roles_of(spec, "minimised", subject)
    assert dict(zip(names, zip(roles.mode, roles.weight, strict=True), strict=True)) == {
        "medial": (HARD, 0.0), "lateral": (HARD, 0.0),
        "TiCaL": (HARD, 0.0), "CaFiL": (HARD, 0.0),
        "ACL": (SOFT, 1e3), "PCL": (SOFT, 1e4), "MCL": (SOFT, 1e2), "LCL": (SOFT, 1.0),
    }  # fmt: skip
    assert roles_of(spec, "zero", subject).mode[names.index("LCL")] == OFF


def test_methods_with_the_same_joints_share_one_model(spec, subject):
    """Protects the one model: methods select roles, and another one only where they have other joints."""
    models = build_each(spec, subject, METHODS)
    for method, kind in (("zero", FREE), ("hinge", HINGE), ("ball", BALL), ("free", FREE)):
        assert models[method].tree.kind[2] == kind
    assert models["zero"] is models["minimised"] is models["prescribed"]
    assert models["hinge"] is not models["zero"]


def test_targets_are_the_methods(spec, subject):
    """Protects lengths: fixed for `zero`, the model's means for `minimised`, the subject's where known."""
    fixed, mean = roles_of(spec, "zero", subject), roles_of(spec, "minimised", subject)
    person = msgspec.structs.replace(subject, ligament_mean_mm={"ACL": 41.5})
    own = roles_of(spec, "minimised", person)
    names = build(spec, subject).names.elements
    acl, pcl = (names.index(name) for name in ("ACL", "PCL"))
    assert fixed.target[acl] == pytest.approx(40.53e-3)
    assert mean.target[acl] == pytest.approx(40.62e-3)
    assert own.target[acl] == pytest.approx(41.5e-3)
    assert own.target[pcl] == pytest.approx(43.12e-3)
    assert roles_of(spec, "zero", person).target[acl] == pytest.approx(40.53e-3)


@pytest.mark.parametrize("method", METHODS)
def test_shapes_fit_each_other(spec, subject, method):
    """Protects the kernels, which check nothing: every array has the length that the others say."""
    model = build(spec, subject, method)
    n_v, n_q = model.n_v, len(model.q_neutral)
    tree, elements, roles = model.tree, model.elements, roles_of(spec, method, subject)
    assert len(tree.dof_parent) == len(tree.dof_rotates) == n_v
    assert n_q == sum(LAYOUTS[kind].n_q for kind in tree.kind)
    assert n_v == sum(len(LAYOUTS[kind].dofs) for kind in tree.kind)
    assert (tree.dof_parent < np.arange(n_v)).all()
    assert (tree.parent < np.arange(4)).all()
    n_element = len(spec.contacts) + len(spec.ligaments)
    assert elements.path.shape == elements.side.shape
    assert (elements.n_path <= elements.path.shape[1]).all()
    assert ((elements.path >= 0) & (elements.path < n_v)).all()
    assert model.lengths.polynomial.shape == (n_element, 7)
    assert model.joint_signs.shape == (len(model.names.joint_angles) // 3, 3)
    assert len(model.names.markers) == len(model.markers.body) == 17
    assert model.names.markers == subject.marker_names
    of_tree = (table for table in tree if isinstance(table, np.ndarray))
    tables = (*of_tree, *tree.chains, *tree.functions)
    told = (*tables, *model.markers, *elements, *roles, *model.joints, model.outline.points)
    for array in filter(lambda table: table is not None, told):
        assert array.flags.c_contiguous
        assert np.isfinite(array).all()


def test_a_branching_model_is_built(spec, subject):
    """Protects models with two legs: the path between them runs through both, with opposite sides."""
    pelvis, thigh = spec.bodies[:2]
    other = msgspec.structs.replace(thigh, name="thigh_2", angles=None)
    model = ModelSpec(name="two", source="t", bodies=(pelvis, thigh, other), methods={"free": MethodSpec()})
    left = msgspec.structs.replace(subject.segments["thigh"], markers_mm={"LKNE": (0.0, -400.0, 0.0)})
    segments = {"pelvis": subject.segments["pelvis"], "thigh": subject.segments["thigh"], "thigh_2": left}
    tree = build(model, msgspec.structs.replace(subject, segments=segments), "free").tree
    assert path_between(tree, 1, 2) == [(6, 1.0), (7, 1.0), (8, 1.0), (9, -1.0), (10, -1.0), (11, -1.0)]
