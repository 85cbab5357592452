"""Knee with two volumetric contacts and twelve ligaments, the slow way: a free leg, Newton-Euler and SciPy.

The femur is fixed: x lateral, y anterior, z proximal (right knee), its long axis horizontal and its anterior
side up, so gravity is -y. The leg is one body, origin at its centre of mass, its axes parallel to the femur's
at full extension. SI units, radians. With f flexion, a adduction (varus) and r internal rotation,

    R = Rx(-f) Ry(a) Rz(r)        femur components = R tibia components        (Grood and Suntay 1983)

Ligaments, contact law, damping, leg: the thesis on volumetric contact, ch. 3, table 3.2, eqs 3.1-3.2.
Spheres and planes: Abdel-Rahman and Hefzy 1998, Hefzy and Abdel-Rahman 2001, quoted from memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

Array = NDArray[np.floating]

LIGAMENTS = {  # femoral point [mm], tibial point [mm], K1 [N/mm^2], K2 [N/mm], L0 as printed [mm]
    "ACL anterior": (7.25, -15.6, 21.25, -7.0, 5.0, 211.25, 22.48, 83.15, 30.82),
    "ACL posterior": (7.25, -20.3, 19.55, 2.0, 2.0, 212.25, 26.27, 83.15, 26.38),
    "PCL anterior": (-4.75, -11.2, 14.05, 5.0, -30.0, 206.25, 31.26, 125.00, 33.32),
    "PCL posterior": (-4.75, -23.2, 15.65, -5.0, -30.0, 206.25, 19.29, 60.00, 25.92),
    "MCL anterior": (-34.75, -1.0, 26.25, -20.0, 4.0, 171.25, 10.00, 91.25, 76.04),
    "MCL oblique": (-34.75, -8.0, 24.25, -35.0, -30.0, 199.25, 5.00, 27.86, 46.43),
    "MCL deep": (-34.75, -5.0, 21.25, -35.0, 0.0, 199.25, 5.00, 21.07, 35.12),
    "LCL": (35.25, -15.0, 21.25, 45.0, -25.0, 176.25, 10.00, 72.22, 60.18),
    "posterior capsule medial": (-24.75, -38.0, 6.25, -25.0, -25.0, 181.25, 12.00, 52.59, 36.52),
    "posterior capsule lateral": (25.25, -35.5, 8.25, 25.0, -25.0, 181.25, 12.00, 54.62, 37.93),
    "oblique popliteal": (25.25, -35.5, 8.25, -25.0, -25.0, 181.25, 3.00, 21.42, 59.50),
    "arcuate popliteal": (-24.75, -38.0, 6.25, 25.0, -25.0, 181.25, 3.00, 20.82, 57.83),
}
_TABLE = np.array(list(LIGAMENTS.values()))
ON_FEMUR, ON_TIBIA = _TABLE[:, 0:3] * 1e-3, _TABLE[:, 3:6] * 1e-3
K1, K2 = _TABLE[:, 6] * 1e6, _TABLE[:, 7] * 1e3
EPS1 = 0.03
SLACK_PRINTED = _TABLE[:, 8] * 1e-3
SLACK = K2 / (4.0 * K1 * EPS1)  # eq. 3.2: the printed lengths are these, rounded to 0.01 mm
DAMPING = 500.0

# Medial, lateral. A plateau is z' = m x' + c in tibia axes.
CENTRES = np.array([[-23.75, -18.0, 12.0], [23.0, -16.0, 11.5]]) * 1e-3
RADII = np.array([21.0, 20.0]) * 1e-3
SLOPES, HEIGHTS = np.array([0.358, -0.341]), np.array([213.0, 212.9]) * 1e-3
NORMALS = np.column_stack([-SLOPES, np.zeros(2), np.ones(2)]) / np.sqrt(1.0 + SLOPES**2)[:, None]
K_VOLUME = 2e9

MASS, GRAVITY = 4.0, 9.81
INERTIA_CYLINDER = np.array([0.07, 0.07, 0.005])  # m (3 r^2 + l^2)/12 and m r^2/2, r = 0.05 m, l = 0.45 m
INERTIA_RECALLED = np.array([0.0672, 0.0672, 0.005334])


@dataclass
class StaticPose:
    """Where the held leg rests."""

    pose: Array  # (5,) x, y, z of the centre of mass in the femur [m], adduction, internal rotation [rad]
    contacts: Array  # (2,) medial, lateral [N]
    ligaments: Array  # (12,) [N]
    holding_moment: Array  # (3,) femur axes, about the centre of mass [N m]


@dataclass
class KneeRun:
    """What a run of n samples gives, and the three numbers it is judged by."""

    time: Array  # (n,) [s]
    origin: Array  # (n, 3) centre of mass in the femur [m]
    rotation: Array  # (n, 3, 3) tibia to femur
    angles: Array  # (n, 3) flexion, adduction, internal rotation [rad]
    translations: Array  # (n, 3) lateral shift, anterior drawer, distraction of the centre of mass [m]
    contacts: Array  # (n, 2) medial, lateral [N]
    ligaments: Array  # (n, 12) [N]
    t90: float  # flexion reaches 90 deg [s]
    peak_medial: float  # [N]
    lift_off: float  # flexion at which the lateral contact first vanishes [deg], nan if it never does


def rotation_of(flexion: float, adduction: float, internal: float) -> Array:
    """Return R = Rx(-flexion) Ry(adduction) Rz(internal), (3, 3), tibia to femur."""
    cf, sf, ca, sa = np.cos(flexion), np.sin(flexion), np.cos(adduction), np.sin(adduction)
    ci, si = np.cos(internal), np.sin(internal)
    about_x = np.array([[1.0, 0.0, 0.0], [0.0, cf, sf], [0.0, -sf, cf]])
    about_y = np.array([[ca, 0.0, sa], [0.0, 1.0, 0.0], [-sa, 0.0, ca]])
    about_z = np.array([[ci, -si, 0.0], [si, ci, 0.0], [0.0, 0.0, 1.0]])
    return about_x @ about_y @ about_z


def angles_of(R: Array) -> Array:
    """Return flexion, adduction, internal rotation of R, (3,) rad."""
    return np.array([np.arctan2(R[1, 2], R[2, 2]), np.arcsin(R[0, 2]), np.arctan2(-R[0, 1], R[0, 0])])


def grood_suntay_axes(R: Array) -> Array:
    """Return e1 (femoral x), e2 = e3 x e1 made unit (floating, anterior), e3 (tibial z) as rows, (3, 3)."""
    e1, e3 = np.array([1.0, 0.0, 0.0]), R[:, 2]
    e2 = np.cross(e3, e1)
    return np.array([e1, e2 / np.linalg.norm(e2), e3])


def translations_of(X: Array, R: Array) -> Array:
    """Return lateral shift H.e1, anterior drawer H.e2, distraction -H.e3 of a tibial point at X, (3,) m."""
    return grood_suntay_axes(R) @ X * np.array([1.0, 1.0, -1.0])


def ligament_tension(length: Array, slack: Array) -> Array:
    """Return the elastic tension of eq. 3.1, (12,) N."""
    stretch = length - slack
    linear = K2 * (length - (1.0 + EPS1) * slack)
    return np.where(stretch <= 0.0, 0.0, np.where(stretch < 2.0 * EPS1 * slack, K1 * stretch**2, linear))


def contact_depths(X: Array, R: Array) -> Array:
    """Return how deep each sphere is in its plateau, (2,) m; negative = apart."""
    in_tibia = (CENTRES - X) @ R
    height = (in_tibia[:, 2] - SLOPES * in_tibia[:, 0] - HEIGHTS) * NORMALS[:, 2]
    return RADII - height


def loads(X: Array, R: Array, v: Array, w: Array, slack: Array = SLACK) -> tuple[Array, Array, Array, Array]:
    """Return force and moment of contacts and ligaments on the leg, the contact forces and the tensions.

    Tension = max(0, T(L) + c dL/dt) while L > L0, else 0; contact = k_V pi d^2 (3 r - d)/3 along the normal.

    X, v : (3,) centre of mass in the femur [m], its velocity [m/s]
    w : (3,) angular velocity, femur axes [rad/s]
    Returned: (3,) [N], (3,) about the centre of mass, femur axes [N m], (2,) [N], (12,) [N].
    """
    arm = ON_TIBIA @ R.T
    line = ON_FEMUR - (X + arm)
    length = np.linalg.norm(line, axis=1)
    direction = line / length[:, None]
    rate = -np.sum(direction * (v + np.cross(w, arm)), axis=1)
    tension = np.maximum(ligament_tension(length, slack) + DAMPING * rate, 0.0) * (length > slack)
    pull = tension[:, None] * direction

    d = np.maximum(contact_depths(X, R), 0.0)
    contact = K_VOLUME * np.pi * d**2 * (3.0 * RADII - d) / 3.0
    push = -contact[:, None] * (NORMALS @ R.T)

    moment = np.cross(arm, pull).sum(axis=0) + np.cross(CENTRES - X, push).sum(axis=0)
    return pull.sum(axis=0) + push.sum(axis=0), moment, contact, tension


def static_pose(flexion_deg: float, slack: Array = SLACK, held_by: str = "femur") -> StaticPose:
    """Return the rest of the weightless leg with its flexion held.

    held_by = "femur": the moment that holds is along the femur's x, M_y = M_z = 0 (the start of the runs);
    held_by = "hinge": the flexion angle is held, M.e2 = M.e3 = 0 (equilibrium of the other five coordinates).
    """
    still = np.zeros(3)

    def residual(pose: Array, flexion: float) -> Array:
        R = rotation_of(flexion, pose[3], pose[4])
        force, moment, _, _ = loads(pose[:3], R, still, still, slack)
        axes = np.eye(3) if held_by == "femur" else grood_suntay_axes(R)
        return np.concatenate([force, 10.0 * axes[1:] @ moment])

    # Newton's steps fly off from far away, so flexion is followed: the shank is swung, then left to settle.
    pose, before = np.array([1.3e-3, -6.4e-3, -213.5e-3, 0.0, 0.0]), 0.0
    for flexion in np.radians(np.linspace(0.0, flexion_deg, 1 + int(np.ceil(abs(flexion_deg) / 5.0)))):
        pose[:3] = rotation_of(flexion - before, 0.0, 0.0) @ pose[:3]
        pose, before = fsolve(residual, pose, args=(flexion,), xtol=1e-13), flexion
    if np.max(np.abs(residual(pose, before))) > 1e-7:
        raise ArithmeticError(f"no rest found at {flexion_deg} deg")
    _, moment, contacts, tension = loads(pose[:3], rotation_of(before, *pose[3:]), still, still, slack)
    return StaticPose(pose, contacts, tension, -moment)


def _quaternion_of(adduction: float, internal: float) -> Array:
    """Return the quaternion (w, x, y, z) of Ry(adduction) Rz(internal)."""
    ca, sa, ci, si = np.cos(adduction / 2), np.sin(adduction / 2), np.cos(internal / 2), np.sin(internal / 2)
    return np.array([ca * ci, sa * si, sa * ci, ca * si])


def _matrix_of(quaternion: Array) -> Array:
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _flexion_left(t: float, y: Array) -> float:
    R = _matrix_of(y[3:7])
    return np.arctan2(R[1, 2], R[2, 2]) - 0.5 * np.pi


def _lateral_depth(t: float, y: Array) -> float:
    return contact_depths(y[:3], _matrix_of(y[3:7]))[1]


_flexion_left.terminal = True  # type: ignore[attr-defined]
_lateral_depth.direction = -1.0  # type: ignore[attr-defined]


def _equations_of_motion(inertia: Array, applied: Array, slack: Array) -> Callable[[float, Array], Array]:
    """Return dy/dt(t, y), y = X, quaternion, v, w (femur axes), with a force applied at its centre."""

    def rate(t: float, y: Array) -> Array:
        X, e, v, w = y[:3], y[3:7], y[7:10], y[10:]
        R = _matrix_of(e)
        force, moment, _, _ = loads(X, R, v, w, slack)
        spin = R.T @ w
        spin_rate = (R.T @ moment - np.cross(spin, inertia * spin)) / inertia
        turn = 0.5 * np.concatenate([[-w @ e[1:]], e[0] * w + np.cross(w, e[1:])])
        return np.concatenate([v, turn, (force + applied) / MASS, R @ spin_rate])

    return rate


def simulate(
    pulse_N: float,
    pulse_s: float,
    inertia: Array = INERTIA_CYLINDER,
    slack: Array = SLACK,
    direction: tuple[float, float, float] = (0.0, -1.0, 0.0),
    step_s: float = 1e-4,
    rtol: float = 1e-9,
) -> KneeRun:
    """Return the fall of the leg from weightless rest at full extension to 90 deg of flexion.

    Gravity acts from t = 0 on and so does, for pulse_s, a constant force pulse_N at the centre of mass, along
    a direction fixed in the femur (downwards unless told).

    inertia : (3,) principal moments about the centre of mass, tibia axes [kg m^2]
    step_s - spacing of the samples [s]; t90 and lift_off are roots, peak_medial is the largest sample.
    """
    weight = np.array([0.0, -MASS * GRAVITY, 0.0])
    start = static_pose(0.0, slack).pose
    y = np.concatenate([start[:3], _quaternion_of(*start[3:]), np.zeros(6)])
    times: list[Array] = []
    states: list[Array] = []
    lift_off, t90, begin = np.nan, np.nan, 0.0
    for end, pulse in ((pulse_s, pulse_N), (1.0, 0.0)):
        if end <= begin:
            continue
        rate = _equations_of_motion(inertia, weight + pulse * np.array(direction), slack)
        piece = solve_ivp(
            rate,
            (begin, end),
            y,
            method="LSODA",
            rtol=rtol,
            atol=1e-2 * rtol,
            max_step=1e-3,  # a ligament that catches for less than that must not be stepped over
            dense_output=True,
            events=(_flexion_left, _lateral_depth),
        )
        n_sample = 2 + int((piece.t[-1] - begin) / step_s)
        sampled = np.linspace(begin, piece.t[-1], n_sample)[1 if times else 0 :]
        times.append(sampled)
        states.append(piece.sol(sampled).T)
        if np.isnan(lift_off) and piece.t_events[1].size:
            lift_off = np.degrees(angles_of(_matrix_of(piece.y_events[1][0][3:7]))[0])
        y, begin = piece.y[:, -1], end
        if piece.status == 1:
            t90 = piece.t[-1]
            break
    return _read(np.concatenate(times), np.concatenate(states), float(t90), float(lift_off), slack)


def _read(time: Array, states: Array, t90: float, lift_off: float, slack: Array) -> KneeRun:
    R = np.array([_matrix_of(y[3:7]) for y in states])
    X = states[:, :3]
    all_loads = [loads(y[:3], r, y[7:10], y[10:], slack) for y, r in zip(states, R, strict=True)]
    contacts = np.array([each[2] for each in all_loads])
    return KneeRun(
        time=time,
        origin=X,
        rotation=R,
        angles=np.array([angles_of(r) for r in R]),
        translations=np.array([translations_of(x, r) for x, r in zip(X, R, strict=True)]),
        contacts=contacts,
        ligaments=np.array([each[3] for each in all_loads]),
        t90=t90,
        peak_medial=float(contacts[:, 0].max()),
        lift_off=lift_off,
    )
