"""Packing for moment arms: muscles, their paths and surfaces, and angles become tables of the kernels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kernels.algebra.functions import evaluate
from kernels.path.stations import CONDITIONAL, MOVING, POINT, WRAP
from kernels.path.surfaces import CYLINDER, ELLIPSOID, SPHERE
from rtsim.errors import ConfigError
from rtsim.models.model import build
from rtsim.models.roles import roles_of

from .small_models import MIXED, ROOT, built, read

PATHS = (
    MIXED
    + """
[[surfaces]]
name = "ball"
segment = "ground"
offset_mm = [1.0, 2.0, 3.0]
kind = "sphere"
radius_mm = 12.0
[[surfaces]]
name = "egg"
segment = "shank"
turned_deg = [30.0, 20.0, 10.0]
kind = "ellipsoid"
radii_mm = [10.0, 20.0, 30.0]
[[surfaces]]
name = "ring"
segment = "foot"
kind = "cylinder"
radius_mm = 20.0
[[muscles]]
name = "long"
[muscles.hill]
max_isometric_force_N = 500.0
optimal_fibre_length_mm = 120.0
tendon_slack_length_mm = 90.0
pennation_deg = 12.0
tendon = "elastic"
[[muscles.path]]
segment = "ground"
offset_mm = [0.0, 100.0, 0.0]
[[muscles.path]]
over = "egg"
side = [0.0, -3.0, 4.0]
[[muscles.path]]
segment = "thigh"
offset_mm = [7.0, 8.0, 9.0]
within = { coordinate = "y", range_mm = [-1.0, 2.0] }
[[muscles.path]]
over = "ball"
[[muscles.path]]
segment = "foot"
moving = { of = "knee", x = { constant = 0.1 }, y = { linear = [1.0, 0.2] }, z = { linear = [2.0, 0.0] } }
[[muscles]]
name = "short"
path = [{ segment = "thigh" }, { segment = "shank", offset_mm = [0.0, -50.0, 0.0] }]
[[angles]]
name = "sum"
terms = [{ of = "knee" }, { of = "turn", weight = -2.0, linear = [0.5, 0.0] }]
[[angles]]
name = "stretch"
terms = [{ of = "x" }, { of = "y" }]
"""
)


def test_paths_become_stations():
    """Protects muscle paths: every column of the table, in SI and by number."""
    m = built(PATHS)
    s = m.stations
    assert m.names.muscles == ("long", "short")
    assert s.start.tolist() == [0, 5, 7]
    assert s.kind.tolist() == [POINT, WRAP, CONDITIONAL, WRAP, MOVING, POINT, POINT]
    assert s.body.tolist() == [-1, 3, 2, -1, 4, 2, 3]
    np.testing.assert_allclose(
        s.point[[0, 2, 6]], [[0.0, 0.1, 0.0], [0.007, 0.008, 0.009], [0.0, -0.05, 0.0]]
    )
    assert s.coordinate.tolist() == [-1, -1, 13, -1, 11, -1, -1]
    assert s.dof.tolist() == [-1, -1, 11, -1, 9, -1, -1]
    np.testing.assert_allclose(s.range[2], [-0.001, 0.002])
    assert s.surface.tolist() == [-1, 1, -1, 0, -1, -1, -1]
    np.testing.assert_allclose(s.side[[1, 3]], [[0.0, -0.6, 0.8], [0.0, 0.0, 0.0]])
    x = [evaluate(m.tree.functions, f, 0.5)[0] for f in s.function[4]]
    assert x == pytest.approx([0.1, 0.7, 1.0])
    assert (np.delete(s.function, 4, axis=0) == -1).all()


def test_surfaces_are_placed_and_sized():
    """Protects wrapping: kinds, bodies, centres, axes as columns, and sizes in metres."""
    surfaces = built(PATHS).surfaces
    assert surfaces.kind.tolist() == [SPHERE, ELLIPSOID, CYLINDER]
    assert surfaces.body.tolist() == [-1, 3, 4]
    np.testing.assert_allclose(surfaces.position[0], [0.001, 0.002, 0.003])
    expected = Rotation.from_euler("XYZ", [30.0, 20.0, 10.0], degrees=True).as_matrix()
    np.testing.assert_allclose(surfaces.rotation[1], expected, atol=1e-15)
    np.testing.assert_allclose(surfaces.size, [[0.012, 0.0, 0.0], [0.01, 0.02, 0.03], [0.02, 0.0, 0.0]])


def test_muscles_have_their_parameters():
    """Protects muscle forces: SI, and no force where a muscle has no parameters."""
    muscles = built(PATHS).muscles
    assert muscles.max_isometric_force.tolist() == [500.0, 0.0]
    assert muscles.optimal_fibre_length[0] == pytest.approx(0.12)
    assert muscles.tendon_slack_length[0] == pytest.approx(0.09)
    assert muscles.pennation_at_optimal[0] == pytest.approx(np.radians(12.0))
    assert muscles.activation_time[0] == pytest.approx(0.015)
    assert muscles.elastic.tolist() == [1, 0]
    assert all(np.isfinite(column).all() for column in muscles)


def test_named_angles_follow_the_coordinates():
    """Protects joints of interest: terms with weights and functions; a sum of lengths is a length."""
    m = built(PATHS)
    angles = m.angles
    assert m.names.angles[4:] == ("sum", "stretch")
    assert m.angle_is_rotation.tolist()[4:] == [True, False]
    assert angles.start.tolist() == [0, 1, 2, 3, 4, 6, 8]
    assert angles.coordinate[4:].tolist() == [11, 14, 12, 13]
    assert angles.weight.tolist() == [1.0, 1.0, 1.0, 1.0, 1.0, -2.0, 1.0, 1.0]
    assert angles.function[[4, 6, 7]].tolist() == [-1, -1, -1]
    assert evaluate(m.tree.functions, angles.function[5], 0.6)[0] == pytest.approx(0.3)


def test_tables_are_what_kernels_take():
    """Protects against silent recompilation: contiguous float64 and int64, empty or not."""
    for spec in (read(PATHS), read(ROOT)):
        m, roles = build(spec), roles_of(spec)
        of_tree = (table for table in m.tree if isinstance(table, np.ndarray))
        tables = [*of_tree, *m.tree.chains, *m.tree.functions, *m.system.bodies]
        tables += [m.system.gravity, *m.elements, *roles, *m.couplers, *m.stations, *m.surfaces, *m.muscles]
        tables += [*m.angles, *m.markers, *m.joints, m.joint_signs, m.q_neutral]
        for table in filter(lambda table: table is not None, tables):
            assert table.flags.c_contiguous
            assert table.dtype in (np.float64, np.int64)
        kinds = {(t.dtype, t.ndim) for t in m.stations}
        assert kinds == {(np.dtype("int64"), 1), (np.dtype("int64"), 2), (np.dtype("float64"), 2)}
        assert (m.stations.function.shape[1], m.surfaces.rotation.ndim) == (3, 3)


def test_a_method_that_takes_a_coordinate_away_is_told():
    """Protects methods with other joints: a muscle that follows a coordinate cannot do without it."""
    text = PATHS + '[methods.usual]\n[methods.loose]\njoints = { shank = "ball" }\n'
    assert build(read(text), None, "usual").coordinates.names[0] == "knee"
    with pytest.raises(ConfigError, match=r"'knee' does not exist .*allowed: x, y, turn"):
        build(read(text), None, "loose")
