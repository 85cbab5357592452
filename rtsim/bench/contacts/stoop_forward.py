"""Forward simulation of the stoop lift: the planar body is driven by the activations that its own motion
needs.

The inverse and the forward computation use the same mechanics. Feet are held to the floor (heels in both
directions, toes at their height) and, while the box is lifted, each hand to the box at the point of the hand
that moves least on it. The markers are tracked under these constraints, and the coordinates are smoothed and
projected onto the constraints again. Inverse dynamics chooses the constraint forces such that no residual
remains at the root. The activations of extensors and flexors follow from its joint moments; splines
interpolate them between frames.

The box is a body that cannot rotate, as hands fixed to it at single points would let it swing. In the
recording it rotates by only 0.1 degrees in 0.2 s.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.signal import butter, filtfilt

from kernels.dynamics.constrained import OK, constrained_dynamics
from kernels.dynamics.constraints import new_constraint_work
from kernels.dynamics.energy import energy_and_power
from kernels.dynamics.inverse import inverse_dynamics
from kernels.dynamics.system import new_dynamics_work
from kernels.forces.generators import GIVEN_TORQUE
from kernels.torque_generator.needed import needed_activations
from rtsim.bench.contacts.stoop_recording import BOX_KG, RATE, FollowedModel, follow, markers_of, table_of
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError, ModelError
from rtsim.models.model import Model, build
from rtsim.models.packing.holds import with_holds
from rtsim.simulation.held_start import meet_places, meet_speeds, put
from rtsim.simulation.load import Setup, simulator_of
from rtsim.simulation.run import run
from rtsim.simulation.simulator import Simulator

Array = NDArray[np.float64]

SOLES_MM = {
    "r": ((-74.466, -98.153), (223.759, -101.341)), "l": ((-81.257, -95.567), (206.03, -114.545)),
}  # fmt: skip
"""Positions of heel and tip of the toes in each foot, from the authors' model: x and y [mm]."""
BOX_INERTIA = 0.234375
"""Moment of inertia of the authors' box [kg m^2]."""
BOX = ("box_x", "box_y")
LENGTHS = ("pelvis_x", "pelvis_y", *BOX)
PASSIVE = ("pelvis_x", "pelvis_y", "pelvis_tilt", *BOX)
"""Coordinates without a torque generator."""
LIFTING = slice(112, 170)
"""Frames of stoop2 from when the box has left the floor until it is up."""
MARGIN = 8
"""Frames before and after the simulated ones that are fitted to the markers, too, for the filter."""
CUT_OFF_HZ = 6.0
"""Cut-off frequency of the filter, a second-order Butterworth forwards and backwards [Hz]."""
N_BEYOND = 3
"""Frames after the end of the simulation through which the splines pass, too."""
EVERY = 80
"""Steps between two frames. Activations are constant over a step, so the work by trapezoids has an error."""


class Driven(NamedTuple):
    """The motion that satisfies the constraints of feet and hands, and the joint moments and activations of
    the torque generators that produce it.

    q, v : (n, n_q), (n, n_v) - coordinates and speeds in n frames
    torque : (n, n_v) - joint moments [N m]
    activation : (n, n_generator) - activations of the torque generators [1]
    """

    q: Array
    v: Array
    torque: Array
    activation: Array


class Forward(NamedTuple):
    """Results of a forward simulation, compared with the motion that it should reproduce.

    names : names of the coordinates
    off : (n, n_coordinate) - deviation from the motion that was fitted to the markers under the constraints,
        from which the activations follow [rad, m]
    off_free : deviation from the motion that was fitted to the markers without constraints, equally smoothed
    activation : (n, n_generator) - activations that drove the simulation
    energy, work : (n_step + 1,) - kinetic and potential energy, and work done by the generators since the
        start [J]
    """

    names: tuple[str, ...]
    off: Array
    off_free: Array
    activation: Array
    energy: Array
    work: Array


def forward(spec: ModelSpec, folder: Path, first: int, n_frame: int, *, holds_box: bool) -> Forward:
    """Simulate n_frame frames of the recording stoop2 from the frame `first` on; return the results with
    their deviations from the recorded motion.

    spec : the person with torque generators; holds_box : whether both hands hold the box
    first : at least MARGIN, and at least n_frame + MARGIN frames before the end; else ConfigError
    """
    box = box_places(folder)
    last = len(box) - MARGIN - n_frame
    if not MARGIN <= first <= last:
        raise ConfigError(
            f"the part before frame {first} and after it is too short for the filter: {MARGIN} frames "
            f"before and {n_frame + MARGIN} after it are needed",
            where="stoop lift, forward", allowed=f"a first frame of {MARGIN} to {last}",
        )  # fmt: skip
    frames = slice(first - MARGIN, first + n_frame + MARGIN)
    path = markers_of(folder, "stoop2")
    free = follow(spec, path)
    tables = held_tables(spec, free, frames, box if holds_box else None)
    held = follow(msgspec.convert(tables, ModelSpec), path, {"BOX": box} if holds_box else {}, frames)
    start = simulator_at(tables, held.q[0])
    driven = driven_by(spec, start, smooth(held.q))
    now, rows = MARGIN, slice(MARGIN, MARGIN + n_frame + 1)
    tables["torque_generators"] = msgspec.to_builtins(spec.torque_generators)
    tables["torque_generators"]["activation"] = splines(
        build(spec), driven.activation[now:][: n_frame + N_BEYOND]
    )
    tables["simulation"] = {"duration_s": n_frame / RATE, "step_ms": 1e3 / (RATE * EVERY)}
    simulator = simulator_at(tables, driven.q[now])
    simulator.v[:] = driven.v[now]
    meet_speeds(simulator, meet_places(simulator))
    # every step, for the work
    done = run(simulator, n_frame * EVERY, 1)
    generators = simulator.simulation.forces.generators
    assert generators is not None
    power = (done.trace.generator[:, :, GIVEN_TORQUE] * done.trace.v[:, generators.dof]).sum(axis=1)
    work = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(done.times))])
    energy = np.array(
        [energy_of(simulator.model, q, v) for q, v in zip(done.trace.q, done.trace.v, strict=True)]
    )
    names = build(spec).coordinates.names
    n, at_frames = len(names), done.trace.q[::EVERY]
    off = at_frames[:, :n] - driven.q[rows, :n]
    off_free = at_frames[:, :n] - smooth(free.q[frames])[rows]
    return Forward(
        names=names, off=off, off_free=off_free, activation=driven.activation[rows], energy=energy, work=work
    )


def box_places(folder: Path) -> Array:
    """Return the centre of the lifted box in the recording stoop2, (n, 3) [m]."""
    table = table_of(folder, "VUA2UHEI/2D/stoop2_15kgBox_2D.csv")
    return np.column_stack([table[:, 1:3], np.zeros(len(table))])


def smooth(q: Array) -> Array:
    """Return the coordinates (n, n_q) after a Butterworth filter, applied forwards and backwards, so that
    there is no delay.
    """
    b, a = butter(2, CUT_OFF_HZ / (0.5 * RATE))
    return filtfilt(b, a, q, axis=0, padlen=9)


def held_tables(spec: ModelSpec, free: FollowedModel, frames: slice, box: Array | None) -> dict[str, Any]:
    """Return the tables of a model file of the person in the stoop lift, without torque generators.

    Constraints hold the feet to the floor; if a box is lifted, further constraints hold the hands to it.

    free : motion fitted to the markers without constraints; the constraints hold its mean over `frames`
    box : (n, 3) - centre of the box [m], None = no box
    """
    elements = [one for side in SOLES_MM for one in held_sole(free, frames, side)]
    tables = msgspec.to_builtins(msgspec.structs.replace(spec, torque_generators=None))
    if box is not None:
        elements += [grip(free, frames, side, box) for side in SOLES_MM]
        tables["bodies"] = [*tables["bodies"], BOX_BODY]
        tables["markers"] = [*tables["markers"], {"name": "BOX", "segment": "box"}]
    hard = {"default": {"hard": [one["name"] for one in elements]}}
    return tables | {"elements": elements, "methods": hard, "simulation": {"duration_s": 1.0}}


BOX_BODY: dict[str, Any] = {
    "name": "box", "joint": "custom", "mass_kg": BOX_KG, "inertia_kg_m2": (BOX_INERTIA,) * 3,
    "motion": [
        {"translates": (1.0, 0.0, 0.0), "of": BOX[0]}, {"translates": (0.0, 1.0, 0.0), "of": BOX[1]},
    ],
    "coordinates": [{"name": name} for name in BOX],
}  # fmt: skip


def held_sole(free: FollowedModel, frames: slice, side: str) -> list[dict[str, Any]]:
    """Return the constraints of a foot on the floor as tables of a model file: the heel is fixed, and the
    toes keep their height.

    free : motion fitted to the markers without constraints, whose mean position over `frames` is held
    side : "r" or "l"
    """
    foot, found = f"foot_{side}", []
    for name, place in zip(("heel", "toe"), SOLES_MM[side], strict=True):
        local = np.array([*place, 0.0])
        ground = 1e3 * free.places(foot, 1e-3 * local)[frames].mean(axis=0)
        ends = {
            "a": {"segment": foot, "offset_mm": local.tolist()},
            "b": {"segment": "ground", "offset_mm": ground.tolist()},
        }
        kind = {"kind": "point"} if name == "heel" else {"kind": "plane", "normal": (0.0, 1.0, 0.0)}
        found.append({"name": f"{name}_{side}", **kind, **ends})
    return found


def grip(free: FollowedModel, frames: slice, side: str, box: Array) -> dict[str, Any]:
    """Return, as a table of a model file, the constraint that attaches a hand to the box at the point of the
    hand that moves least on the box during the lift.

    free : motion fitted to the markers without constraints; frames : frames over which the position of this
        point on the box is averaged
    side : "r" or "l"; box : (n, 3) - centre of the box [m]
    """
    hand = f"hand_{side}"
    b = free.model.names.bodies.index(hand)
    turned, wrist = free.rotation[LIFTING, b, :2, :2], free.position[LIFTING, b, :2] - box[LIFTING, :2]
    # turned @ point - place = -wrist, for all frames
    rows = np.concatenate([turned, np.broadcast_to(-np.eye(2), turned.shape)], axis=2).reshape(-1, 4)
    point = np.append(np.linalg.lstsq(rows, -wrist.reshape(-1), rcond=None)[0][:2], 0.0)
    on_box = (free.places(hand, point) - box)[frames].mean(axis=0)
    return {
        "name": f"grip_{side}", "kind": "point", "a": {"segment": hand, "offset_mm": (1e3 * point).tolist()},
        "b": {"segment": "box", "offset_mm": (1e3 * on_box * (1.0, 1.0, 0.0)).tolist()},
    }  # fmt: skip


def simulator_at(tables: dict[str, Any], q: Array) -> Simulator:
    """Return a simulator of the model in tables of a model file, without its markers; q : coordinates from
    which it starts, in the order of the model
    """
    tables = {**tables, "markers": [], "bodies": [dict(body) for body in tables["bodies"]]}
    values = iter(q.tolist())
    for body in tables["bodies"]:
        body["coordinates"] = [neutral(one["name"], next(values)) for one in body["coordinates"]]
    spec = msgspec.convert(tables, ModelSpec)
    return simulator_of(Setup(spec, spec.simulation, with_holds(spec, build(spec)), {}))


def neutral(name: str, value: float) -> dict[str, Any]:
    """Return a coordinate as a table of a model file; value : its neutral value, where the model starts [m,
    rad]
    """
    if name in LENGTHS:
        return {"name": name, "neutral_mm": 1e3 * value}
    return {"name": name, "neutral_deg": float(np.degrees(value))}


def driven_by(spec: ModelSpec, simulator: Simulator, q: Array) -> Driven:
    """Return the motion nearest to q : (n, n_q) that satisfies the constraints, with the joint moments and
    activations that produce it.

    spec : the person with torque generators; simulator : the same person with constraints, and box if any
    """
    model, times = simulator.model, np.arange(len(q)) / RATE
    spline = CubicSpline(times, q, axis=0)
    assert model.holds is not None
    held = model.holds.constraints
    n_row, n_v = len(held.elements.kind), model.n_v
    work, rows = (
        new_dynamics_work(model.system.tree, n_row),
        new_constraint_work(held, n_v, model.system.tree),
    )
    nothing = np.zeros((len(model.names.bodies), 6))
    passive = [k for k, name in enumerate(model.coordinates.names) if name in PASSIVE]
    own = build(spec)
    generators = own.forces.generators
    n, n_own = len(own.names.generators), own.n_v
    found = Driven(np.zeros_like(q), np.zeros_like(q), np.zeros_like(q), np.zeros((len(q), n)))
    for k, time in enumerate(times):
        simulator.q[:], simulator.v[:] = q[k], spline(time, 1)
        if not put(simulator, [])[2]:
            raise ModelError("no pose near the motion satisfies the constraints", where=f"frame {k}")
        at, speed = simulator.q.copy(), simulator.v.copy()
        tau, rate, multiplier = np.zeros(n_v), np.zeros(n_v), np.zeros(len(rows.multiplier))
        # the acceleration that the constraints allow, nearest in the masses
        inverse_dynamics(model.system, at, speed, spline(time, 2), nothing, work, tau)
        status = constrained_dynamics(
            model.system, held, at, speed, tau, nothing, work, rows, rate, multiplier
        )
        assert status == OK
        G = rows.row[:n_row]
        inverse_dynamics(model.system, at, speed, rate, nothing, work, tau)
        # of all forces that leave nothing to the root and the box the least: half on each side
        tau -= G.T @ np.linalg.lstsq(G[:, passive].T, tau[passive], rcond=1e-9)[0]
        found.q[k], found.v[k], found.torque[k] = at, speed, tau
        state = at[:n_own].copy(), speed[:n_own].copy(), tau[:n_own].copy()
        needed_activations(generators, *state, found.activation[k], np.zeros(n), np.zeros(3), np.zeros(4))
    return found


def splines(model: Model, activation: Array) -> dict[str, Any]:
    """Return a spline of the activation of every torque generator as tables of a model file, over the time
    since the first frame [s]; activation : (n, n_generator) - one row for each frame
    """
    times = (np.arange(len(activation)) / RATE).tolist()
    return {
        name: {"spline": {"at": times, "value": column.tolist()}}
        for name, column in zip(model.names.generators, activation.T, strict=True)
    }


def energy_of(model: Model, q: Array, v: Array) -> float:
    """Return the kinetic plus the potential energy of a model at coordinates q and speeds v [J]."""
    n_v, out = model.n_v, np.zeros(2)
    motion = np.ascontiguousarray(q), np.ascontiguousarray(v), np.zeros(n_v)
    wrench, work = np.zeros((len(model.tree.parent), 6)), new_dynamics_work(model.tree)
    energy_and_power(model.system, motion, wrench, work, np.zeros(n_v), out)
    return float(out[0])
