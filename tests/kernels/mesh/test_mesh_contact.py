"""Contact of meshes: the twin, derivatives, memory, boundaries, areas, convergence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kernels.mesh.contact import NON_FINITE, OK, mesh_contact, mesh_stiffness
from kernels.mesh.meshes import (
    CONTACT_AREA,
    DEEP,
    FAR,
    GRADIENT,
    LARGEST_DEPTH,
    MIDDLE,
    N_TOUCHING,
    OF_A,
    OF_B,
    OF_BOTH,
    OWN_AREA,
    OWN_NORMAL,
    PAPER_AREA,
    SHARE,
    VOLUME,
    new_mesh_contacts,
    new_mesh_work,
)
from kernels.mesh.nearest import signed_distance
from rtsim.models.packing.meshes import TriangleSurface, by_leaf, discs, pack_meshes
from rtsim.models.shapes import ball, plate, sheet
from tests.naive.mesh_contact import twin

V = np.linspace(-0.03, 0.03, 7)
PASSES = {"a": OF_A, "b": OF_B, "both": OF_BOTH}
UPRIGHT = np.eye(3)


def bowl(u, v):
    """A saddle-like open surface, outside upwards."""
    return np.column_stack((u, v, 4.0 * u**2 - 2.0 * v**2))


BALL, EGG = ball(0.03, 5, 7), ball(0.025, 6, 6)
SADDLE = sheet(bowl, np.linspace(-0.04, 0.04, 5), np.linspace(-0.03, 0.03, 5))
OTHERS = {"ball": EGG, "saddle": SADDLE}


class Pair:
    """One contact of two surfaces."""

    def __init__(self, a, b, passes=OF_A, offset=0.0, depth_max=np.inf, area=OWN_AREA, way=GRADIENT):
        rows = [passes], [(area, area)], [(way, way)], [offset], [depth_max]
        self.meshes = pack_meshes([a, b])
        self.contacts = new_mesh_contacts(self.meshes, [(0, 1)], *rows)
        self.modulus = 1.0
        self.work = new_mesh_work(self.contacts)

    def wrench(self, R, p):
        """On A at a pose of B."""
        R, p = np.ascontiguousarray(R, float), np.ascontiguousarray(p, float)
        assert mesh_contact(self.meshes, self.contacts, 0, self.modulus, R, p, self.work) == OK
        return self.work.wrench[0].copy()

    def stiffness(self, R, p):
        """At the pose of the last wrench."""
        R, p = np.ascontiguousarray(R, float), np.ascontiguousarray(p, float)
        mesh_stiffness(self.contacts, 0, self.modulus, R, p, self.work)
        return self.work.stiffness[0].copy()


def poses(n, seed=3, size=0.2, shift=0.003):
    """Poses around one in which two balls of 30 and 25 mm overlap."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        R = Rotation.from_rotvec(size * rng.normal(size=3)).as_matrix()
        yield R, np.array([0.024, 0.023, 0.021]) + shift * rng.normal(size=3)


def over(n, seed=5):
    """Poses of the saddle below the ball."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        R = Rotation.from_rotvec(0.2 * rng.normal(size=3)).as_matrix()
        yield R, np.array([0.0, 0.0, -0.018]) + 0.003 * rng.normal(size=3)


def displaced(R, p, twist):
    """A pose of B after a small twist about A's origin."""
    turn = Rotation.from_rotvec(twist[:3]).as_matrix()
    return turn @ R, turn @ p + twist[3:]


@pytest.mark.parametrize("passes", PASSES)
@pytest.mark.parametrize(("other", "offset", "depth_max", "area", "way"), [
    ("ball", 0.0, np.inf, OWN_AREA, GRADIENT), ("ball", 0.002, 0.006, PAPER_AREA, GRADIENT),
    ("saddle", 0.001, 0.01, OWN_AREA, GRADIENT), ("ball", 0.002, 0.006, OWN_AREA, OWN_NORMAL),
    ("saddle", 0.001, 0.01, PAPER_AREA, OWN_NORMAL),
])  # fmt: skip
def test_wrench_and_patch_are_those_of_the_twin(passes, other, offset, depth_max, area, way) -> None:
    """Protects closest points, sides, boundaries and areas against a search through all triangles."""
    pair = Pair(BALL, OTHERS[other], PASSES[passes], offset, depth_max, area, way)
    touched = 0
    for R, p in poses(2) if other == "ball" else over(2):
        wrench = pair.wrench(R, p)
        paper, own = area == PAPER_AREA, way == OWN_NORMAL
        wanted, size, volume = twin(BALL, OTHERS[other], R, p, passes, offset, depth_max, paper, own)
        assert wrench == pytest.approx(wanted, rel=1e-9, abs=1e-11 * np.abs(wanted).max())
        assert pair.work.patch[0, [CONTACT_AREA, VOLUME]] == pytest.approx((size, volume), rel=1e-9)
        touched += pair.work.patch[0, N_TOUCHING]
    assert touched > 0


@pytest.mark.compiled
@pytest.mark.parametrize(("other", "offset", "depth_max"), [
    ("ball", 0.0, np.inf), ("ball", 0.002, np.inf), ("saddle", 0.001, np.inf), ("saddle", 0.001, 0.01),
])  # fmt: skip
def test_what_lies_outside_the_box_of_a_surface_is_told_by_its_side(other, offset, depth_max) -> None:
    """Protects the look at a surface's box alone: just outside it, far away, behind an open surface."""
    rng = np.random.default_rng(8)
    pair = Pair(BALL, OTHERS[other], OF_A, offset, depth_max)
    touched = set()
    for away in (0.0, 0.03, 0.045, 0.0545, 0.06, 0.2) * 3:
        way = rng.normal(size=3)
        R, p = Rotation.random(random_state=rng).as_matrix(), away * way / np.linalg.norm(way)
        wrench = pair.wrench(R, p)
        wanted, _, volume = twin(BALL, OTHERS[other], R, p, "a", offset, depth_max)
        assert wrench == pytest.approx(wanted, rel=1e-9, abs=1e-11 * max(np.abs(wanted).max(), 1e-6))
        assert pair.work.patch[0, VOLUME] == pytest.approx(volume, rel=1e-9, abs=1e-18)
        touched.add(bool(pair.work.patch[0, N_TOUCHING] > 0))
    assert touched == {True, False} or (other == "saddle" and touched == {True})


@pytest.mark.parametrize("way", [GRADIENT, OWN_NORMAL], ids=["gradient", "own normal"])
@pytest.mark.parametrize("passes", PASSES)
@pytest.mark.parametrize(("other", "offset"), [("ball", 0.0), ("ball", 0.002), ("saddle", 0.001)])
def test_stiffness_is_the_difference_of_wrenches(passes, other, offset, way) -> None:
    """Protects the derivative by the pose, over faces, edges and corners."""
    pair, h = Pair(BALL, OTHERS[other], PASSES[passes], offset, way=way), 1e-7
    for R, p in poses(2) if other == "ball" else over(2):
        pair.wrench(R, p)
        found = pair.stiffness(R, p)
        steps = [
            pair.wrench(*displaced(R, p, h * twist)) - pair.wrench(*displaced(R, p, -h * twist))
            for twist in np.eye(6)
        ]
        wanted = np.array(steps).T / (2.0 * h)
        assert np.abs(found - wanted).max() < 1e-6 * np.abs(wanted).max()


@pytest.mark.parametrize("passes", PASSES)
def test_forces_have_a_potential(passes) -> None:
    """Protects energy: the wrench is the slope of the sum of area depth^2/2."""
    pair, h = Pair(BALL, EGG, PASSES[passes], 0.001), 1e-6

    def energy(R, p):
        pair.wrench(R, p)
        total = 0.0
        for k in range(2):
            first = pair.contacts.vertex[0, k]
            rows = pair.work.touch[first : first + pair.work.n_touch[0, k]]
            total += 0.5 * np.sum(rows[:, SHARE] * rows[:, DEEP] ** 2)
        return total * (0.5 if passes == "both" else 1.0)

    for R, p in poses(3):
        wrench = pair.wrench(R, p)
        slopes = [
            (energy(*displaced(R, p, h * twist)) - energy(*displaced(R, p, -h * twist))) / (2.0 * h)
            for twist in np.eye(6)
        ]
        assert wrench == pytest.approx(slopes, rel=1e-6, abs=1e-6 * np.abs(wrench).max())


def test_forces_against_own_normals_go_on_across_an_edge() -> None:
    """Protects what own normals are for: over a ridge, where the closest face changes, no force leaps."""
    ridge = sheet(lambda u, v: np.column_stack((u, v, -0.5 * np.abs(u))), np.linspace(-0.04, 0.04, 9), V)
    leaps = []
    for way in (GRADIENT, OWN_NORMAL):
        pair = Pair(ridge, ball(0.01, 5, 4), OF_B, way=way)
        x = np.linspace(-0.002, 0.002, 401)
        forces = np.array([pair.wrench(UPRIGHT, np.array([a, 0.001, 0.006]))[3:] for a in x])
        leaps.append(np.linalg.norm(np.diff(forces, axis=0), axis=1).max() / np.linalg.norm(forces[0]))
    assert leaps[1] < 0.1 * leaps[0]


def test_a_pressure_that_is_the_same_all_round_presses_nowhere_to() -> None:
    """Protects forces against own normals: on a small ball deep in a flat body their sum is buoyancy."""
    floor, small = plate(0.4, 0.4, 2), ball(0.01, 40, 40)
    pair = Pair(floor, small, OF_B, way=OWN_NORMAL)
    wrench = pair.wrench(UPRIGHT, np.array([0.02, 0.03, -0.05]))
    assert wrench[3:] == pytest.approx([0.0, 0.0, -4.0 / 3.0 * np.pi * 1e-6], rel=0.01, abs=1e-9)
    assert pair.work.patch[0, VOLUME] > 10.0 * np.linalg.norm(wrench[3:])


@pytest.mark.parametrize("way", [GRADIENT, OWN_NORMAL], ids=["gradient", "own normal"])
@pytest.mark.parametrize("depth", [0.0005, 0.002, 0.005])
def test_a_ball_pressed_into_a_plane_is_as_its_formula(depth, way) -> None:
    """Protects the size of forces: pi R d^2 along gradients, the volume of the cap against own normals, and
    no moment about the ball's middle.
    """
    radius = 0.01
    pair = Pair(plate(0.4, 0.4, 2), ball(radius, 120, 120), OF_B, way=way)
    middle = np.array([0.02, 0.03, radius - depth])
    wrench = pair.wrench(UPRIGHT, middle)
    cap = np.pi * depth**2 * (radius - depth / 3.0)
    wanted = cap if way == OWN_NORMAL else np.pi * radius * depth**2
    assert wrench[5] == pytest.approx(-wanted, rel=1e-3)
    assert wrench[:3] == pytest.approx(np.cross(middle, wrench[3:]), abs=1e-9 * wanted)


@pytest.mark.parametrize(("passes", "other_way"), [(OF_A, OF_B), (OF_B, OF_A), (OF_BOTH, OF_BOTH)])
def test_forces_against_own_normals_are_equal_and_opposite(passes, other_way) -> None:
    """Protects Newton's third law: with the surfaces exchanged the same force points the other way."""
    one = Pair(BALL, EGG, passes, 0.001, way=OWN_NORMAL)
    other = Pair(EGG, BALL, other_way, 0.001, way=OWN_NORMAL)
    for R, p in poses(3):
        wrench, back = one.wrench(R, p), other.wrench(R.T, -R.T @ p)
        force = R @ back[3:]
        moment = R @ back[:3] + np.cross(p, force)
        assert wrench == pytest.approx(-np.array([*moment, *force]), abs=1e-12 * np.abs(wrench).max())


@pytest.mark.compiled
def test_what_is_remembered_changes_nothing() -> None:
    """Protects the exactness of the memory: along a way, and after leaps, as if each pose were the first."""
    a, b = ball(0.03, 14, 16), ball(0.025, 15, 14)
    pair, rng = Pair(a, b, OF_BOTH, offset=0.0005), np.random.default_rng(7)
    R, p = np.eye(3), np.array([0.0, 0.0, 0.06])
    n_touching = []
    for step in range(120):
        size = 1.0 if step % 40 == 39 else 0.02
        R = Rotation.from_rotvec(size * rng.normal(size=3)).as_matrix() @ R
        p = p + 0.0005 * rng.normal(size=3) - [0.0, 0.0, 0.0002]
        wrench, again = pair.wrench(R, p), Pair(a, b, OF_BOTH, offset=0.0005)
        wanted = again.wrench(R, p)
        assert wrench == pytest.approx(wanted, rel=1e-9, abs=1e-14)
        assert pair.work.patch[0, N_TOUCHING] == again.work.patch[0, N_TOUCHING]
        n_touching.append(pair.work.patch[0, N_TOUCHING])
    assert n_touching[0] == 0.0
    assert max(n_touching) > 20.0


def test_leaps_change_nothing_where_too_many_triangles_may_be_closest() -> None:
    """Protects the way out of a leap: what is gathered around vertices is full, and each is sought alone."""
    a, b = ball(0.03, 30, 30), ball(0.03, 6, 6)
    pair, p = Pair(b, a), np.array([0.003, 0.002, 0.035])
    for turn in ([0.1, 0.2, 0.3], [0.1, 2.5, 0.3], [0.2, 0.1, 0.3]):
        R = Rotation.from_rotvec(turn).as_matrix()
        wanted = Pair(b, a).wrench(R, p)
        assert pair.wrench(R, p) == pytest.approx(wanted, rel=1e-9, abs=1e-12 * np.abs(wanted).max())
    assert (pair.work.near[-10:] > 0).all()


def test_every_triangle_lies_in_its_disc() -> None:
    """Protects what discs rule out: acute, right and obtuse triangles, a disc's place in its leaf's row."""
    rng = np.random.default_rng(1)
    corners = np.concatenate((rng.normal(size=(200, 3, 3)), [[[0, 0, 0], [1, 0, 0], [0, 1, 0]]]))
    found = discs(*corners.transpose(1, 0, 2))
    reach = np.linalg.norm(corners - found[:, None, :3], axis=2).max(axis=1)
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    np.testing.assert_allclose(found[:, 3], reach, rtol=1e-8)
    assert (found[:, 3] >= reach).all()
    assert (found[:, 3] < longest / np.sqrt(3.0) * (1.0 + 1e-6)).all()
    disc = by_leaf(np.arange(35.0).reshape(5, 7), 1)
    np.testing.assert_array_equal(disc[0, :, :2].T, np.arange(14.0).reshape(2, 7))
    np.testing.assert_array_equal(disc[1, :, :3].T, np.arange(14.0, 35.0).reshape(3, 7))
    assert (disc[0, MIDDLE : MIDDLE + 3, 2:] == FAR).all()


def test_warm_poses_look_at_few_vertices() -> None:
    """Protects the speed of a small motion: vertices far away keep what they knew."""
    a, b = ball(0.03, 48, 48), ball(0.03, 48, 48)
    pair = Pair(a, b)
    pair.wrench(UPRIGHT, np.array([0.057, 0.0, 0.0]))
    before = pair.work.at.copy()
    pair.wrench(UPRIGHT, np.array([0.057 - 2e-5, 1e-5, 0.0]))
    looked_at = np.count_nonzero((before != pair.work.at).any(axis=1))
    assert pair.work.patch[0, N_TOUCHING] <= looked_at < 2.0 * pair.work.patch[0, N_TOUCHING]


def test_two_passes_do_not_double_the_force() -> None:
    """Protects the mean: of finer and finer balls all three ways give one force."""
    a, b = ball(0.03, 40, 42), ball(0.03, 42, 40)
    p = np.array([0.0, 0.056, 0.003])
    forces = [Pair(a, b, passes).wrench(UPRIGHT, p)[3:] for passes in (OF_A, OF_B, OF_BOTH)]
    assert forces[2] == pytest.approx(0.5 * (forces[0] + forces[1]), rel=1e-12)
    assert np.linalg.norm(forces[0] - forces[1]) < 0.03 * np.linalg.norm(forces[2])


def test_force_on_a_plate_converges_to_that_of_a_sphere() -> None:
    """Protects areas and depths: pi r d^2 by the ball's areas, by d/(3 r) above the volume of the cap."""
    r, d, floor = 0.03, 0.0015, plate(0.1, 0.1, 4)
    cap, limit = np.pi * d**2 * (r - d / 3.0), np.pi * r * d**2
    errors = []
    for n in (24, 48, 96):
        pair, total = Pair(floor, ball(r, n, n), OF_B), 0.0
        for k in range(8):
            R = Rotation.from_rotvec([0.4 * k, 0.3 * k, 0.0]).as_matrix()
            total -= pair.wrench(R, np.array([0.003 * k, 0.0, r - d]))[5] / 8.0
        errors.append(abs(total / limit - 1.0))
    assert pair.work.patch[0, LARGEST_DEPTH] == pytest.approx(d, rel=0.02)
    assert errors[2] < 0.25 * errors[0]
    assert errors[2] < 5e-3
    assert total == pytest.approx(cap, rel=0.02)


def test_beyond_the_boundary_of_an_open_surface_nothing_presses() -> None:
    """Protects against pressure by what is not there: beside a plate, however low."""
    floor, tile = plate(0.02, 0.02, 2), ball(0.004, 6, 6)
    pair = Pair(tile, floor)
    assert pair.wrench(UPRIGHT, np.array([0.0, 0.0, -0.003]))[5] > 0.0
    assert not pair.wrench(UPRIGHT, np.array([0.02, 0.0, 0.002])).any()


def test_the_side_holds_at_sharp_edges() -> None:
    """Protects the sign where the closest point is an edge or a corner: inside and outside a thin wedge."""
    wedge = np.array([[0.0, 0, 0], [0, 0, 1], [1, 0.1, 0], [1, 0.1, 1], [1, -0.1, 0], [1, -0.1, 1]])
    triangles = np.array([
        [0, 1, 3], [0, 3, 2], [0, 4, 5], [0, 5, 1], [2, 3, 5], [2, 5, 4], [0, 2, 4], [1, 5, 3],
    ])  # fmt: skip
    pair, rng = Pair(TriangleSurface(wedge, triangles), EGG), np.random.default_rng(11)
    for x in np.vstack(
        (rng.uniform(-0.3, 1.3, (150, 3)), [[-1e-3, 1e-5, 0.5], [1e-3, 0.0, 0.5], [0.2, 0, -0.1]])
    ):
        inside = abs(x[1]) < 0.1 * x[0] and x[0] < 1.0 and 0.0 < x[2] < 1.0
        distance, _, _, rim = signed_distance(pair.meshes, 0, x, -1, pair.work)
        assert (distance < 0.0) == inside
        assert rim == 0


def test_a_pose_that_is_none_is_said_and_forgotten() -> None:
    """Protects later frames from one with numbers that are none."""
    pair, good = Pair(BALL, EGG), np.array([0.024, 0.023, 0.021])
    wanted = pair.wrench(UPRIGHT, good)
    bad = np.array([np.nan, 0.0, 0.0])
    assert mesh_contact(pair.meshes, pair.contacts, 0, 1.0, UPRIGHT, bad, pair.work) == NON_FINITE
    assert not pair.work.wrench.any()
    assert pair.wrench(UPRIGHT, good) == pytest.approx(wanted, rel=1e-12)
