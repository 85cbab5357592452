"""Force elements in plain vectors: points, their velocities, forces on points, and J' f: slow and obvious.

No twists, no reference point, no paths between bodies: every point has the Jacobian of its own body.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.contact.elements import Contacts
from kernels.contact.geometries import SPHERE_ON_SPHERE
from kernels.contact.pressure import DAMPING, EXPONENT, HUNT_CROSSLEY, KELVIN_VOIGT, STIFFNESS, VOLUMETRIC
from kernels.forces.assembly import ForceElements
from kernels.forces.ligament import LINEAR
from kernels.joints.tree import Tree
from tests.naive import lens, volumetric
from tests.naive.dynamics import turning
from tests.naive.friction import Parameters, friction_force
from tests.naive.ligament import line_force
from tests.naive.tree import State, cross, state

Array = NDArray[np.floating]


class Sum(NamedTuple):
    """Generalized forces of all elements, and what the elements say of themselves."""

    tau: Array  # (n_v,)
    lines: Array  # (n_line, 3) - length [m], rate [m/s], tension [N]
    touches: list[Touch]
    rubs: Array  # (n_friction, 2) - sliding velocity [m/s], friction on A [N]


class Touch(NamedTuple):
    """Geometry, motion and forces of a contact, in ground axes; without contact only d, h and the normal."""

    d: float  # depth in parts of h [1]
    h: float  # [m]
    normal: Array  # (3,)
    place: Array  # (3,) [m]
    J: Array  # (3, n_v) - of the velocity of A relative to B there
    v: Array  # (3,) - that velocity less the plane's drift [m/s]
    N: float = 0.0  # normal force [N]
    friction: Array = np.zeros(3)  # (3,) on A [N]
    torque: Array = np.zeros(3)  # (3,) on A [N m]

    @property
    def v_n(self) -> float:
        """Return the normal velocity, positive where the bodies part [m/s]."""
        return float(self.v @ self.normal)

    @property
    def slip(self) -> Array:
        """Return the sliding velocity (3,) [m/s]."""
        return self.v - self.v_n * self.normal


def place_jacobian(at: State, body: int, place: Array) -> Array:
    """Return dx (3, n_v) of the point of a body that lies at this place of ground now; body -1 is ground."""
    J = np.zeros((3, len(at.tree.dof_body)))
    for s in at.path(body):
        J[:, s.dof] += s.slope * (cross(s.axis, place - s.centre) if s.rotates else s.axis)
    return J


def axes(at: State, body: int) -> Array:
    """Return the axes (3, 3) of a body as columns."""
    return np.eye(3) if body < 0 else at.body[body][:3, :3]


def twin(
    forces: ForceElements, tree: Tree, q: Array, v: Array, level: Array | None = None, thesis: bool = False
) -> Sum:
    """Return the sum of all elements at the coordinates q (n_q,) and the speeds v (n_v,).

    level : (n_load,) part of each load that acts, all of it without; thesis : patches by eqs 5.36-5.37.
    """
    at, tau = state(tree, q), np.zeros(len(v))
    lines = [add_line(forces, e, at, v, tau) for e in range(len(forces.lines.pair))]
    touches = [add_contact(forces, e, at, v, tau, thesis) for e in range(len(forces.contacts.pair))]
    rubs = [add_friction(forces, e, at, v, tau) for e in range(len(forces.frictions.pair))]
    for e, pair in enumerate(forces.loads.pair):
        body = int(forces.pairs.body_a[pair])
        force = (1.0 if level is None else level[e]) * forces.loads.force[e]
        turned = axes(at, body) @ force if forces.loads.turns[e] else force
        tau += place_jacobian(at, body, at.point(body, forces.loads.point[e])).T @ turned
    springs = forces.springs
    for coordinate, dof, rest, stiffness, damping, moment in zip(*springs, strict=True):
        tau[dof] += moment - stiffness * (q[coordinate] - rest) - damping * v[dof]
    return Sum(tau, np.array(lines).reshape(-1, 3), touches, np.array(rubs).reshape(-1, 2))


def bodies(forces: ForceElements, pair: int) -> tuple[int, int]:
    """Return the bodies of a pair."""
    return int(forces.pairs.body_a[pair]), int(forces.pairs.body_b[pair])


def add_line(forces: ForceElements, e: int, at: State, v: Array, tau: Array) -> tuple[float, float, float]:
    """Return length, rate and tension of line e; tau (n_v,) grows by its pull on both ends."""
    lines = forces.lines
    A, B = bodies(forces, lines.pair[e])
    a, b = at.point(A, lines.point_a[e]), at.point(B, lines.point_b[e])
    J_a, J_b = place_jacobian(at, A, a), place_jacobian(at, B, b)
    length = float(np.linalg.norm(a - b))
    if length == 0.0:
        return 0.0, 0.0, line_force(lines.law[e], lines.parameter[e], 0.0, 0.0)
    n = (a - b) / length
    rate = float(n @ (J_a @ v - J_b @ v))
    tension = line_force(lines.law[e], lines.parameter[e], length, rate)
    tau += J_a.T @ (-tension * n) + J_b.T @ (tension * n)
    return length, rate, tension


def rub(forces: ForceElements, e: int, at: State, v: Array) -> tuple[float, Array]:
    """Return the sliding velocity of point e [m/s] and its gradient (n_v,) by the speeds."""
    frictions = forces.frictions
    A, B = bodies(forces, frictions.pair[e])
    t = axes(at, B) @ frictions.direction[e]
    place = at.point(A, frictions.point[e])
    gradient = (place_jacobian(at, A, place) - place_jacobian(at, B, place)).T @ t
    return float(gradient @ v) - frictions.surface_velocity[e], gradient


def add_friction(forces: ForceElements, e: int, at: State, v: Array, tau: Array) -> tuple[float, float]:
    """Return sliding velocity of point e and friction on A; tau (n_v,) grows by both bodies' shares."""
    frictions = forces.frictions
    speed, gradient = rub(forces, e, at, v)
    parameters = Parameters(*frictions.parameter[e])
    force = -friction_force(frictions.law[e], parameters, speed, frictions.load[e])
    tau += force * gradient
    return speed, force


def touch(forces: ForceElements, e: int, at: State, v: Array) -> Touch:
    """Return geometry and motion of contact e without its forces; open contacts at their closest point."""
    contacts: Contacts = forces.contacts
    A, B = bodies(forces, contacts.pair[e])
    E, radii = axes(at, A) @ contacts.rotation[e], contacts.radii[e]
    normal, centre = axes(at, B) @ contacts.normal[e], at.point(A, contacts.centre[e])
    if contacts.geometry[e] == SPHERE_ON_SPHERE:
        return touch_spheres(contacts, e, at, v, (A, B))
    n = E.T @ normal
    d, h = (
        volumetric.depth(radii, n, E.T @ (at.point(B, contacts.point[e]) - centre)),
        volumetric.height(radii, n),
    )
    place = centre - E @ (radii**2 * n) / h
    if d > 0.0 and contacts.law[e] == VOLUMETRIC:
        place = centre + E @ volumetric.patch(radii, n, min(d, 2.0)).centroid
    J = place_jacobian(at, A, place) - place_jacobian(at, B, place)
    return Touch(d, h, normal, place, J, J @ v - axes(at, B) @ contacts.surface_velocity[e])


def touch_spheres(contacts: Contacts, e: int, at: State, v: Array, bodies: tuple[int, int]) -> Touch:
    """As touch, of two spheres; d in parts of A's radius."""
    A, B = bodies
    r_a, r_b = contacts.radii[e, 0], contacts.radii_b[e, 0]
    b = at.point(B, contacts.point[e])
    apart = at.point(A, contacts.centre[e]) - b
    g = float(np.linalg.norm(apart))
    place = b + 0.5 * (g + r_b - r_a) * apart / g
    if g < r_a + r_b and contacts.law[e] == VOLUMETRIC:
        place = b + lens.overlap(g, r_a, r_b)[1] * apart / g
    J = place_jacobian(at, A, place) - place_jacobian(at, B, place)
    surface_velocity = axes(at, B) @ contacts.surface_velocity[e]
    return Touch((r_a + r_b - g) / r_a, r_a, apart / g, place, J, J @ v - surface_velocity)


def add_contact(forces: ForceElements, e: int, at: State, v: Array, tau: Array, thesis: bool) -> Touch:
    """Return contact e; tau (n_v,) grows by what it does to both bodies."""
    found, contacts = touch(forces, e, at, v), forces.contacts
    if found.d <= 0.0:
        return found
    A, B = bodies(forces, contacts.pair[e])
    N = press(contacts, e, found)
    friction = np.zeros(3)
    speed = float(np.linalg.norm(found.slip))
    law, parameters = int(contacts.friction_law[e]), Parameters(*contacts.friction[e])
    if law >= 0 and speed > 0.0:
        friction = -friction_force(law, parameters, speed, N) * found.slip / speed
    torque = np.zeros(3)
    turn = turning(at, A) - turning(at, B)
    w = turn @ v
    w_n = float(w @ found.normal)
    E, radii = axes(at, A) @ contacts.rotation[e], contacts.radii[e]
    n, d = E.T @ found.normal, min(found.d, 2.0)
    patch = volumetric.patch(radii, n, d)
    J = E @ (volumetric.thesis_J(radii, n, d) if thesis else patch.J) @ E.T
    if contacts.rolls[e] and N > 0.0:
        k_V, damping = contacts.pressure[e, STIFFNESS], contacts.pressure[e, DAMPING]
        torque += volumetric.rolling_torque(k_V, damping, J, w - w_n * found.normal)
    if contacts.spins[e]:
        r_g = volumetric.gyration(J, patch.volume, found.normal)
        F_t = friction_force(law, Parameters(*contacts.spin_friction[e]), w_n, N)
        torque += volumetric.spinning_torque(F_t, r_g, found.normal)
    tau += found.J.T @ (N * found.normal + friction) + turn.T @ torque
    return found._replace(N=N, friction=friction, torque=torque)


def press(contacts: Contacts, e: int, found: Touch) -> float:
    """Return the normal force of contact e [N], which never pulls."""
    law, p, depth = contacts.law[e], contacts.pressure[e], found.d * found.h
    stiffness, damping, exponent = p[STIFFNESS], p[DAMPING], p[EXPONENT]
    if law == VOLUMETRIC:
        V = volumetric.volume(contacts.radii[e], min(found.d, 2.0))
        if contacts.geometry[e] == SPHERE_ON_SPHERE:
            r_a, r_b = contacts.radii[e, 0], contacts.radii_b[e, 0]
            V = lens.overlap(r_a + r_b - depth, r_a, r_b)[0]
        return volumetric.normal_force(stiffness, damping, V, found.v_n)
    if law == KELVIN_VOIGT:
        return max(0.0, stiffness * depth - damping * found.v_n)
    if law == HUNT_CROSSLEY:
        return max(0.0, depth**exponent * (stiffness - damping * found.v_n))
    return stiffness * depth**exponent


def potential(forces: ForceElements, tree: Tree, q: Array, level: Array | None = None) -> float:
    """Return the energy that the elements hold [J]: of all but what damps, rubs or turns with a body."""
    at, total = state(tree, q), 0.0
    still = np.zeros(len(tree.dof_body))
    for e in range(len(forces.lines.pair)):
        length, _, _ = add_line(forces, e, at, still, still.copy())
        total += line_energy(forces.lines.law[e], forces.lines.parameter[e], length)
    for e in range(len(forces.contacts.pair)):
        found, p = touch(forces, e, at, still), forces.contacts.pressure[e]
        if found.d <= 0.0:
            continue
        if forces.contacts.geometry[e] == SPHERE_ON_SPHERE and forces.contacts.law[e] == VOLUMETRIC:
            r_a, r_b = forces.contacts.radii[e, 0], forces.contacts.radii_b[e, 0]
            total += p[STIFFNESS] * lens.energy(r_a + r_b - found.d * found.h, r_a, r_b)
        elif forces.contacts.law[e] == VOLUMETRIC:
            A = int(forces.pairs.body_a[forces.contacts.pair[e]])
            n = (axes(at, A) @ forces.contacts.rotation[e]).T @ found.normal
            total += volumetric.energy(p[STIFFNESS], forces.contacts.radii[e], n, found.d)
        else:
            exponent = 1.0 if forces.contacts.law[e] == KELVIN_VOIGT else p[EXPONENT]
            total += p[STIFFNESS] * (found.d * found.h) ** (exponent + 1.0) / (exponent + 1.0)
    for e, pair in enumerate(forces.loads.pair):
        if not forces.loads.turns[e]:
            x = at.point(int(forces.pairs.body_a[pair]), forces.loads.point[e])
            total -= (1.0 if level is None else level[e]) * forces.loads.force[e] @ x
    springs = forces.springs
    total += 0.5 * np.sum(springs.stiffness * (q[springs.coordinate] - springs.rest) ** 2)
    total -= float(springs.moment @ q[springs.coordinate])
    return float(total)


def line_energy(law: int, parameters: Array, length: float) -> float:
    """Return the integral of the elastic tension from the slack length to this one [J]."""
    slack, k_toe, k_linear, eps1 = parameters[:4]
    x, toe = length - slack, 2.0 * eps1 * slack
    if law == LINEAR:
        return float(0.5 * k_linear * x**2)
    if x <= 0.0:
        return 0.0
    if x <= toe:
        return float(k_toe * x**3 / 3.0)
    return float(k_toe * toe**3 / 3.0 + 0.5 * k_linear * ((x - 0.5 * toe) ** 2 - (0.5 * toe) ** 2))
