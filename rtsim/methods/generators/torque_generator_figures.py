"""Figures of torque generators: torque over angle, active torque over speed, activations, and curves.

They correspond to figures 1, 4, 5 and A.6 of Millard et al. (2019), J Biomech. In its eq. 13 the torque has
to be divided by the isometric torque tau_o; in print this division is missing. Angles and speeds are those of
the joint, also if the curves of a generator are defined over the range of two joints. Only the figure of how
parameters change the curves uses the generator's own angle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernels.torque_generator.torque import SPEED, STRENGTH, activations
from rtsim.files.tables.panels import FigurePanel
from rtsim.methods.generators.torque_generator_fit import PARAMETERS, FittedGenerator
from rtsim.models.packing.torque_generators import UNFITTED, PlacedGenerator, pack_generators

Array = NDArray[np.float64]
N_GRID = 241
MOST_SHOWN = 2.0
"""Largest passive torque in the figure of all curves, in parts of the isometric one."""
MARGIN = 0.15
BLENDS, SCALES, SHIFT_DEG = (0.0, 0.5, 1.0), (1.0, 1.5, 2.0), 20.0
"""Values of the parameters that their figure shows."""
LENGTHENING = "lengthening"


def panels_of_fit(fit: FittedGenerator) -> list[FigurePanel]:
    """Return the panels of a fit: torque over angle and over speed, before and after the fit (as figure 5
    of Millard et al. 2019), and activation over angle (as figure 4).
    """
    found = []
    for when, x in (("before", np.array(fit.placed.fit)), ("after", fit.x)):
        found += [angle_plane(fit, x, when), speed_plane(fit, x, when)]
    assert fit.before is not None
    assert fit.after is not None
    theta = np.degrees(fit.flexion)
    curves = {"before": fit.before.activation, "after": fit.after.activation}
    return [
        *found,
        FigurePanel(
            title="activation that the motion needs",
            unit="1",
            x_title="flexion [deg]",
            x=theta,
            curves=curves,
            enlarged=True,
        ),
    ]


def parts_at(one: PlacedGenerator, x: Array, theta: Array, omega: Array) -> Array:
    """Return the four factors (n, 4) of a generator's torque at angles theta [rad] and angular speeds omega
    [rad/s], both positive in the direction of its torque: active torque over angle t^A, torque over speed
    t^V, passive torque t^PE, and the damping factor of the passive torque (1 minus a damping coefficient
    times the relative speed).

    x : (5,) fitted parameters of the generator
    """
    packed = pack_generators([one])
    packed.fit[0], p = x, packed.parameter[0]
    q = one.joint.flexion_sign * one.joint.flexion_of(theta)
    qd = omega / (one.joint.factor * one.torque_sign)
    states = np.column_stack([q, qd, np.full(len(q), p[STRENGTH])])
    unused, parts = np.zeros(len(q)), np.zeros((len(q), 4))
    activations(packed, 0, states, unused, parts)
    return parts


def side_by_side(grid: Array, along: Array, on_grid: dict[str, Array], of_motion: dict[str, Array]) -> tuple:
    """Join curves over a grid (n,) and curves along a motion (m,) into curves over one abscissa (n + 1 + m,),
    as one panel needs them; where a curve has no values, and between both, it is NaN. Return abscissa and
    curves by name.
    """
    gap, n, m = [np.nan], len(grid), len(along)
    x = np.concatenate([grid, gap, along])
    curves = {name: np.concatenate([y, gap, np.full(m, np.nan)]) for name, y in on_grid.items()}
    curves |= {name: np.concatenate([np.full(n, np.nan), gap, y]) for name, y in of_motion.items()}
    return x, curves


def angle_plane(fit: FittedGenerator, x: Array, when: str) -> FigurePanel:
    """Return the panel of torque over the angle of the joint: the greatest torque of the generator, at rest
    and while lengthening, its passive torque, and the torque that the motion demands.

    x : (5,) parameters with which the curves are drawn
    when : "before" or "after" the fit, for the title
    """
    span = MARGIN * max(np.ptp(fit.theta), 0.1)
    grid = np.linspace(fit.theta.min() - span, fit.theta.max() + span, N_GRID)
    strength = fit.placed.spec.strength_Nm * float(x[4])
    still = parts_at(fit.placed, x, grid, np.zeros(N_GRID))
    fast = parts_at(fit.placed, x, grid, np.full(N_GRID, -10.0 * fit.placed.spec.speed_deg_s))
    # it goes on in a straight line, beside which nobody would see the motion: beyond this the curves end
    most = max(MOST_SHOWN, float(fit.demand.max()) / strength)
    passive = strength * np.where(still[:, 2] <= most, still[:, 2], np.nan)
    on_grid = {
        "active plus passive, speed 0": strength * still[:, 0] * still[:, 1] + passive,
        f"active plus passive, {LENGTHENING}": strength * fast[:, 0] * fast[:, 1] + passive,
        "passive": passive,
    }
    of_joint = np.degrees(fit.placed.joint.flexion_of(grid))
    along, curves = side_by_side(of_joint, np.degrees(fit.flexion), on_grid, {"motion": fit.demand})
    return FigurePanel(
        title=f"{fit.placed.name.replace('_', ' ')} torque {when} the fit",
        unit="N m",
        x_title="flexion [deg]",
        x=along,
        curves=curves,
        enlarged=True,
    )


def speed_plane(fit: FittedGenerator, x: Array, when: str) -> FigurePanel:
    """Return the panel of active torque over speed, relative to the strength tau_o: that of the motion
    (Millard et al. 2019, eq. 13), and the greatest possible.

    x : (5,) parameters with which the curves are drawn
    when : "before" or "after" the fit, for the title
    """
    strength = fit.placed.spec.strength_Nm * float(x[4])
    parts = parts_at(fit.placed, x, fit.theta, fit.omega)
    active = fit.demand / strength - parts[:, 2] * parts[:, 3]
    most = max(np.abs(fit.omega).max(), 0.1) * (1.0 + MARGIN)
    grid = np.linspace(-most, most, N_GRID)
    optimal = np.full(N_GRID, np.radians(fit.placed.spec.optimal_angle_deg))
    able = parts_at(fit.placed, x, optimal, grid)
    of_joint, of_motion = (np.degrees(omega) / fit.placed.joint.factor for omega in (grid, fit.omega))
    along, curves = side_by_side(
        of_joint,
        of_motion,
        {"greatest torque, at the optimal angle": able[:, 0] * able[:, 1]},
        {"motion": active},
    )
    title = f"active torque {when} the fit"
    return FigurePanel(
        title=title,
        unit="fraction of the isometric torque",
        x_title="shortening [deg/s]",
        x=along,
        curves=curves,
        enlarged=True,
    )


def panels_of_parameters(one: PlacedGenerator) -> list[FigurePanel]:
    """Return the panels that show how blends, scales and the shift change a generator's curves, as in
    figure 1 of Millard et al. (2019).
    """
    spec, x = one.spec, np.array(UNFITTED)
    zero = sorted((spec.passive_zero_deg, spec.passive_one_deg))
    ends = spec.optimal_angle_deg - 3.0 * spec.width_deg, spec.optimal_angle_deg + 3.0 * spec.width_deg
    angles = np.linspace(min(zero[0] - SHIFT_DEG, ends[0]), max(zero[1] + SHIFT_DEG, ends[1]), N_GRID)
    speeds = np.linspace(-1.5 * spec.speed_deg_s, 1.5 * spec.speed_deg_s, N_GRID)
    still, best = np.zeros(N_GRID), np.full(N_GRID, np.radians(spec.optimal_angle_deg))

    def curve(column: int, blend: float = 0.0, **changed: float) -> Array:
        y = x.copy()
        for name, value in changed.items():
            y[PARAMETERS.index(name)] = value
        along = (best, np.radians(speeds)) if column == 1 else (np.radians(angles), still)
        found = parts_at(one._replace(blend=blend), y, *along)[:, column]
        return np.where(found <= MOST_SHOWN, found, np.nan)

    towards = 1.0 if spec.passive_one_deg > spec.passive_zero_deg else -1.0
    blended = {f"t_A, lambda_A {b:g}": curve(0, b) for b in BLENDS}
    blended |= {f"t_PE, lambda_P {b:g}": curve(2, passive_blend=b) for b in BLENDS}
    scaled = {f"t_A, s_A {s:g}": curve(0, angle_scale=s) for s in SCALES}
    scaled |= {
        f"t_PE, Delta_P {d:g} deg": curve(2, passive_shift=np.radians(d))
        for d in (-towards * SHIFT_DEG, 0.0, towards * SHIFT_DEG)
    }
    fast = {f"t_V, lambda_V {b:g}": curve(1, b) for b in BLENDS}
    faster = {f"t_V, s_V {s:g}": curve(1, speed_scale=s) for s in SCALES}
    words, unit = one.muscle.replace("_", " "), "fraction of the isometric torque"
    times = "" if one.joint.factor == 1.0 else f"{one.joint.factor:g} x "
    offset = np.degrees(one.joint.flexion_of(0.0))
    flexion = f"(flexion {'-' if offset > 0.0 else '+'} {abs(offset):.4g})" if offset else "flexion"
    angle, speed = f"{times}{flexion} [deg]", f"{times}shortening [deg/s]"
    return [
        FigurePanel(
            title=f"{words}: torque over angle, blending varied",
            unit=unit,
            x_title=angle,
            x=angles,
            curves=blended,
            enlarged=True,
        ),
        FigurePanel(
            title="torque over speed, blending varied",
            unit=unit,
            x_title=speed,
            x=speeds,
            curves=fast,
            enlarged=True,
        ),
        FigurePanel(
            title="torque over angle, scale and shift varied",
            unit=unit,
            x_title=angle,
            x=angles,
            curves=scaled,
            enlarged=True,
        ),
        FigurePanel(
            title="torque over speed, scale varied",
            unit=unit,
            x_title=speed,
            x=speeds,
            curves=faster,
            enlarged=True,
        ),
    ]


def panels_of_curves(placed: Sequence[PlacedGenerator]) -> list[FigurePanel]:
    """Return the panels of torque over angle and over speed for agonist and antagonist of joints, as in
    figure A.6 of Millard et al. (2019).

    Joints with the same generators have one panel.
    """
    found: list[FigurePanel] = []
    joints: dict[tuple, str] = {}
    for one in placed:
        joint = one.joint
        same = (joint.extensor, joint.flexor, joint.factor, joint.flexion_of(0.0), one.fit)
        joints.setdefault(same, joint.coordinate)
    for coordinate in dict.fromkeys(joints.values()):
        pair = [one for one in placed if one.joint.coordinate == coordinate]
        packed = pack_generators(pair)
        middle = [one.spec.optimal_angle_deg for one in pair]
        grid = np.linspace(min(middle) - 120.0, max(middle) + 120.0, N_GRID)
        fastest = float(packed.parameter[:, SPEED].max())
        speeds = np.linspace(-fastest, fastest, N_GRID)
        angle, speed = {}, {}
        for one, fit, p in zip(pair, packed.fit, packed.parameter, strict=True):
            sign, strength = -1.0 if one.name.endswith("extensor") else 1.0, p[STRENGTH] * fit[4]
            words = one.muscle.replace("_", " ")
            at_rest = parts_at(one, fit, np.radians(grid), np.zeros(N_GRID))
            angle[f"{words}, active"] = sign * strength * at_rest[:, 0]
            # it goes on in a straight line: beyond the panel the curve ends
            shown = np.where(at_rest[:, 2] <= MOST_SHOWN, at_rest[:, 2], np.nan)
            angle[f"{words}, passive"] = sign * strength * shown
            optimal = np.full(N_GRID, np.radians(one.spec.optimal_angle_deg))
            moving = parts_at(one, fit, optimal, speeds)
            speed[words] = sign * strength * moving[:, 1]
        title, joint = coordinate.replace("_", " "), pair[0].joint
        bent = np.degrees(joint.flexion_of(np.radians(grid)))
        found.append(
            FigurePanel(
                title=f"{title}: torque at speed 0",
                unit="N m",
                x_title="flexion [deg]",
                x=bent,
                curves=angle,
                enlarged=True,
            )
        )
        turned = np.degrees(speeds) / joint.factor
        found.append(
            FigurePanel(
                title=f"{title}: active torque",
                unit="N m",
                x_title="shortening [deg/s]",
                x=turned,
                curves=speed,
                enlarged=True,
            )
        )
    return found
