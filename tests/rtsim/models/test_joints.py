"""Packing for dynamics: bodies, joints, coordinates, couplers and elements become tables of the kernels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kernels.algebra.functions import evaluate
from kernels.joints.kinds import BALL, CHAIN, FREE
from kernels.joints.tree import point_in_ground
from kernels.solver.constraints import HARD, SPHERE_ON_PLANE
from rtsim.config.models.function_schema import FunctionSpec, Spline
from rtsim.models.model import build
from rtsim.models.packing.functions import FunctionTable, function_of, value
from rtsim.models.roles import roles_of

from .small_models import MIXED, ROOT, about, built, phi, placed, read


def test_a_universal_joint_turns_about_its_axes_in_order():
    """Protects universal joints: the first axis is fixed in the parent, the second turns with the first."""
    m = built(ROOT + '[[bodies]]\nname = "b"\nparent = "base"\njoint = "universal"\naxes = ["u", "w"]')
    q = np.array([0.4, -0.7])
    np.testing.assert_allclose(placed(m, q).rotation[1], about("x", 0.4) @ about("z", -0.7), atol=1e-15)
    assert m.coordinates.names == ("b_1", "b_2")
    assert m.coordinates.is_angle.all()


def test_a_planar_joint_slides_before_it_turns():
    """Protects planar joints: translations along both axes, then the turn about their normal."""
    m = built(ROOT + '[[bodies]]\nname = "b"\nparent = "base"\njoint = "planar"\naxes = ["w", "u"]')
    at = placed(m, np.array([0.3, -0.2, 0.5]))
    np.testing.assert_allclose(at.position[1], [-0.2, 1.0, 0.3], atol=1e-15)
    np.testing.assert_allclose(at.rotation[1], about("y", 0.5), atol=1e-15)
    assert m.coordinates.is_angle.tolist() == [False, False, True]


def test_a_custom_joint_goes_through_its_motions_in_order():
    """Protects custom joints: each motion is along an axis of the frame reached so far, by its function."""
    m = built(
        ROOT + '[[bodies]]\nname = "b"\nparent = "base"\njoint = "custom"\n'
        'coordinates = [{ name = "bend" }, { name = "slide" }]\n'
        'motion = [{ rotates = "w", of = "bend", linear = [2.0, 0.1] },'
        ' { translates = [0.0, 2.0, 0.0], of = "slide" },'
        ' { translates = "u", of = "bend", polynomial = [0.0, 0.0, 3.0] }, { rotates = "v", constant = 0.3 }]'
    )
    at = placed(m, np.array([0.2, 0.05]))
    turned = about("z", 0.5)
    np.testing.assert_allclose(at.position[1], [0.0, 1.0, 0.0] + turned @ [0.12, 0.05, 0.0], atol=1e-15)
    np.testing.assert_allclose(at.rotation[1], turned @ about("y", 0.3), atol=1e-15)
    assert m.coordinates.names == ("bend", "slide")
    assert m.coordinates.is_angle.tolist() == [True, False]


def test_joint_frames_are_turned_body_fixed():
    """Protects turned_deg: X, then the new Y, then the new Z, on both bodies; the axis turns too."""
    m = built(
        ROOT + '[[bodies]]\nname = "b"\nparent = "base"\njoint = "hinge"\naxis = "v"\n'
        "in_parent = { offset_mm = [10.0, 20.0, 30.0], turned_deg = [20.0, -30.0, 40.0] }\n"
        "in_child = { offset_mm = [-5.0, 0.0, 7.0], turned_deg = [5.0, 60.0, -10.0] }"
    )
    P = Rotation.from_euler("XYZ", [20.0, -30.0, 40.0], degrees=True).as_matrix()
    C = Rotation.from_euler("XYZ", [5.0, 60.0, -10.0], degrees=True).as_matrix()
    R = P @ about("y", 0.6) @ C.T
    at = placed(m, np.array([0.6]))
    np.testing.assert_allclose(at.rotation[1], R, atol=1e-15)
    expected = np.array([0.01, 1.02, 0.03]) - R @ [-0.005, 0.0, 0.007]
    np.testing.assert_allclose(at.position[1], expected, atol=1e-15)


def test_coordinates_know_where_they_are():
    """Protects couplers, angles and paths: indices behind quaternions, SI, open ranges."""
    m = built(MIXED)
    assert m.coordinates.names == ("knee", "x", "y", "turn")
    assert m.coordinates.q.tolist() == [11, 12, 13, 14]
    assert m.coordinates.dof.tolist() == [9, 10, 11, 12]
    assert m.tree.kind[[1, 2, 4]].tolist() == [FREE, BALL, CHAIN]
    np.testing.assert_allclose(m.coordinates.range[0], np.radians([0.0, 120.0]))
    np.testing.assert_allclose(m.coordinates.range[2], [-0.01, 0.02])
    assert m.coordinates.range[3].tolist() == [-np.inf, np.inf]
    assert m.coordinates.is_angle.tolist() == [True, False, False, True]
    expected = np.zeros(15)
    expected[[3, 7]], expected[11], expected[12] = 1.0, np.radians(20.0), 0.004
    np.testing.assert_allclose(m.q_neutral, expected, atol=1e-16)
    assert (m.names.angles, m.angle_is_rotation.tolist()) == (m.coordinates.names, [True, False, False, True])
    assert m.angles.start.tolist() == [0, 1, 2, 3, 4]
    assert m.angles.dof.tolist() == [9, 10, 11, 12]


def test_bodies_have_their_mass():
    """Protects dynamics: kg, metres, and the inertia as a symmetric matrix about the centre of mass."""
    m = built(
        ROOT + "mass_kg = 2.0\nmass_centre_mm = [1.0, -2.0, 3.0]\n"
        "inertia_kg_m2 = [0.02, 0.03, 0.04, 0.001, -0.002, 0.003]"
    )
    bodies = m.system.bodies
    assert bodies.mass.tolist() == [2.0]
    np.testing.assert_allclose(bodies.centre, [[0.001, -0.002, 0.003]])
    expected = [[0.02, 0.001, -0.002], [0.001, 0.03, 0.003], [-0.002, 0.003, 0.04]]
    np.testing.assert_allclose(bodies.inertia, [expected])
    assert m.system.gravity.tolist() == [0.0, -9.81, 0.0]


FUNCTIONS = {
    "constant": FunctionSpec(constant=-0.3),
    "linear": FunctionSpec(linear=(2.0, -0.5)),
    "polynomial": FunctionSpec(polynomial=(0.1, -1.0, 0.5, 2.0)),
    "spline": FunctionSpec(spline=Spline(at=(-1.0, -0.2, 0.5, 2.0), value=(0.3, -0.1, 0.4, 1.0))),
    "line": FunctionSpec(spline=Spline(at=(-1.0, 2.0), value=(0.3, -0.1))),
}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_functions_are_evaluated_as_in_kernels(kind):
    """Protects the neutral pose of coupled coordinates: the kernels' values, also beyond splines."""
    table = FunctionTable()
    assert table.add(FunctionSpec()) == -1
    row = table.add(FUNCTIONS[kind])
    for x in (-3.0, -1.0, -0.7, -0.2, 0.0, 0.49, 0.5, 1.1, 2.0, 4.0):
        expected = evaluate(table.build(), row, x)[0]
        assert value(function_of(FUNCTIONS[kind]), x) == pytest.approx(expected, abs=1e-14)


def test_coupled_coordinates_start_where_their_couplers_put_them():
    """Protects the neutral pose: couplers of couplers hold there, in whatever order the file lists them."""
    hinge = '[[bodies]]\nname = "{}"\nparent = "base"\njoint = "hinge"\naxis = "w"\n'
    spec = read(
        ROOT
        + hinge.format("a") + 'coordinates = [{ name = "a", neutral_deg = 30.0 }]\n'
        + "".join(hinge.format(name) for name in "bcd")
        + '[[couplers]]\ncoordinate = "c"\nof = "b"\npolynomial = [0.1, 2.0, 1.0]\n'
        '[[couplers]]\ncoordinate = "b"\nof = "a"\n'
        'spline = { at = [0.0, 0.4, 1.0], value = [0.0, 0.3, 0.5] }\n'
        '[[couplers]]\ncoordinate = "d"\nconstant = 0.7\n'
    )  # fmt: skip
    m = build(spec)
    assert m.couplers.driver.tolist() == [1, 0, 3]
    assert m.q_neutral[0] == pytest.approx(np.radians(30.0))
    assert m.q_neutral[3] == 0.7
    assert m.q_neutral[1] > 0.3
    np.testing.assert_allclose(phi(m, roles_of(spec), m.q_neutral), 0.0, atol=1e-15)


def test_a_point_element_is_three_planes():
    """Protects loops: Phi is the gap along the axes of body B, hard by default, ground too."""
    spec = read(
        ROOT + '[[bodies]]\nname = "a"\njoint = "free"\n[[bodies]]\nname = "b"\njoint = "hinge"\naxis = "w"\n'
        'parent = "base"\n'
        '[[elements]]\nname = "pin"\nkind = "point"\n'
        'a = { segment = "a", offset_mm = [1.0, 2.0, 3.0] }\n'
        'b = { segment = "b", offset_mm = [4.0, 5.0, 6.0] }\n'
        '[[elements]]\nname = "nail"\nkind = "point"\n'
        'a = { segment = "b" }\nb = { segment = "ground", offset_mm = [0.0, 900.0, 0.0] }\n'
    )
    m, roles = build(spec), roles_of(spec)
    assert m.names.elements == ("pin.x", "pin.y", "pin.z", "nail.x", "nail.y", "nail.z")
    assert m.elements.kind.tolist() == [SPHERE_ON_PLANE] * 6
    assert roles.mode.tolist() == [HARD] * 6
    assert roles.target.tolist() == [0.0] * 6
    q = np.array([0.1, -0.2, 0.3, np.cos(0.2), np.sin(0.2), 0.0, 0.0, 0.8])
    at = placed(m, q)
    a, b = np.zeros(3), np.zeros(3)
    point_in_ground(at, 1, np.array([1e-3, 2e-3, 3e-3]), a)
    point_in_ground(at, 2, np.array([4e-3, 5e-3, 6e-3]), b)
    expected = np.concatenate([at.rotation[2].T @ (a - b), [0.0, 0.1, 0.0]])
    np.testing.assert_allclose(phi(m, roles, q), expected, atol=1e-15)
