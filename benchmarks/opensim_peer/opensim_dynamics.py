"""Inverse dynamics and joint reactions of a walk beside OpenSim: same motion, same external forces.

Coordinates are those of inverse kinematics of all frames, smoothed without delay with their speeds and
accelerations; external forces are those of the plates on each foot at the same times. OpenSim's inverse
dynamics gives the generalized forces; applied as actuators of the coordinates they give its reactions, of
which an actuator's force is a part, as here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.rates.manifold import manifold_of
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.rate_schema import ButterworthSpec
from rtsim.files.forces.force_storage import read_storage_forces
from rtsim.files.markers.trial import MarkerTrial
from rtsim.methods.inverse_dynamics import dynamics_of_model
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.methods.kinematics.smoothing import smooth
from rtsim.methods.plates.plate_loads import plate_loads
from rtsim.models.feet import PlacedFeet, find_feet
from rtsim.models.model import build

Array = NDArray[np.float64]


class Moved(NamedTuple):
    """A motion and the external forces.

    names : names of the coordinates; q, v, v_dot : (n, n_coordinate) [rad, m; per s; per s^2]
    wrenches : body -> (n, 6) moment about ground's origin [N m] and force [N], ground axes
    """

    times: Array
    names: tuple[str, ...]
    q: Array
    v: Array
    v_dot: Array
    wrenches: Mapping[str, Array]


class PeerLoads(NamedTuple):
    """Generalized forces (n, n_coordinate) [N m, N], and for each joint by name its reaction (n, 6): moment
    about the centre of the child's frame [N m] and force [N] on the child, in ground axes.
    """

    tau: Array
    reactions: Mapping[str, Array]


def moved(
    spec: ModelSpec, estimator: MultibodyEstimator, trial: MarkerTrial, columns: list[int], plates: Path
) -> Moved:
    """Return the motion of a recording; columns : indices of the tracked markers in the trial."""
    estimator.restart()
    model, feet = build(spec), PlacedFeet(find_feet(build(spec)))
    rows, lines = [], []
    for k, frame in enumerate(np.ascontiguousarray(trial.positions[:, columns])):
        estimator.estimate(frame, 1.0 / trial.rate if k else 0.0)
        rows.append(estimator.q.copy())
        lines.append(feet.at(*estimator.pose).copy())
    spec_of_filter, manifold = ButterworthSpec(), manifold_of(model.tree)
    found = smooth(spec_of_filter, manifold, trial.rate, trial.times, np.array(rows))
    loads = plate_loads(read_storage_forces(plates), trial.times, np.array(lines))
    wrench = np.nan_to_num(np.concatenate([loads.foot_moment, loads.foot_force], axis=2))
    at, dof = model.coordinates.q, model.coordinates.dof
    return Moved(
        times=trial.times, names=model.coordinates.names, q=found.q[:, at], v=found.v[:, dof],
        v_dot=found.v_dot[:, dof],
        wrenches={model.names.bodies[foot.bodies[0]]: wrench[:, foot.side] for foot in feet.feet},
    )  # fmt: skip


def our_loads(spec: ModelSpec, motion: Moved) -> PeerLoads:
    """Loads by the inverse dynamics of a run."""
    model = build(spec)
    dynamics = dynamics_of_model(model)
    tau, reactions = [], []
    q, v, v_dot = model.q_neutral.copy(), np.zeros(model.n_v), np.zeros(model.n_v)
    at, dof = model.coordinates.q, model.coordinates.dof
    for k in range(len(motion.times)):
        q[at], v[dof], v_dot[dof] = motion.q[k], motion.v[k], motion.v_dot[k]
        dynamics.clear()
        for body, wrench in motion.wrenches.items():
            dynamics.external[model.names.bodies.index(body)] = wrench[k]
        dynamics.compute(q, v, v_dot)
        tau.append(dynamics.tau[dof].copy())
        reactions.append(np.hstack([dynamics.moment("ground"), dynamics.force("ground")]))
    by_joint = np.array(reactions)
    return PeerLoads(np.array(tau), {name: by_joint[:, b] for b, name in enumerate(model.names.joints)})


def their_loads(opensim: Any, path: Path, motion: Moved) -> PeerLoads:
    """Loads by OpenSim, with the forces of the model's own file switched off."""
    model = opensim.Model(str(path))
    model.buildSystem()
    forces, found = model.getForceSet(), model.getCoordinateSet()
    for k in range(forces.getSize()):
        forces.get(k).set_appliesForce(False)
    actuators = [opensim.CoordinateActuator(name) for name in motion.names]
    for actuator, name in zip(actuators, motion.names, strict=True):
        actuator.setName(f"actuator_{name}")
        actuator.setOptimalForce(1.0)
        model.addForce(actuator)
    pushes = [pushing(opensim, model, body, motion.times, rows) for body, rows in motion.wrenches.items()]
    for push in pushes:
        model.addForce(push)
    state = model.initSystem()
    coordinates = [found.get(name) for name in motion.names]
    speeds = speed_indices(coordinates, state)
    joints = [model.getJointSet().get(k) for k in range(model.getJointSet().getSize())]
    solver, u_dot = opensim.InverseDynamicsSolver(model), opensim.Vector(state.getNU(), 0.0)
    tau, reactions = [], []
    for actuator in actuators:
        actuator.overrideActuation(state, True)
    for k, time in enumerate(motion.times.tolist()):
        state.setTime(time)
        for c, coordinate in enumerate(coordinates):
            coordinate.setValue(state, float(motion.q[k, c]), False)
            coordinate.setSpeedValue(state, float(motion.v[k, c]))
            u_dot[speeds[c]] = float(motion.v_dot[k, c])
            actuators[c].setOverrideActuation(state, 0.0)
        solved = solver.solve(state, u_dot)
        tau.append([solved.get(i) for i in speeds])
        for actuator, force in zip(actuators, tau[-1], strict=True):
            actuator.setOverrideActuation(state, force)
        model.realizeAcceleration(state)
        on_child = [joint.calcReactionOnChildExpressedInGround(state) for joint in joints]
        reactions.append([[part.get(i) for part in (r.get(0), r.get(1)) for i in range(3)] for r in on_child])
    by_joint = np.array(reactions)
    return PeerLoads(np.array(tau), {joint.getName(): by_joint[:, j] for j, joint in enumerate(joints)})


def pushing(opensim: Any, model: Any, body: str, times: Array, rows: Array) -> Any:
    """A prescribed force of OpenSim at ground's origin; rows : (n, 6) moment and force at the times."""
    push = opensim.PrescribedForce(f"push_{body}", model.getBodySet().get(body))
    push.setForceIsInGlobalFrame(True)
    push.setPointIsInGlobalFrame(True)
    tables = []
    for column in rows.T:
        table = opensim.PiecewiseLinearFunction()
        for time, value in zip(times.tolist(), column.tolist(), strict=True):
            table.addPoint(time, value)
        tables.append(table)
    push.setTorqueFunctions(*tables[:3])
    push.setForceFunctions(*tables[3:])
    push.setPointFunctions(*(opensim.Constant(0.0) for _ in range(3)))
    return push


def speed_indices(coordinates: list, state: Any) -> list[int]:
    """Indices of the coordinates' speeds in OpenSim's state."""
    found = []
    for coordinate in coordinates:
        for other in coordinates:
            other.setSpeedValue(state, float(other is coordinate))
        u = state.getU()
        found.append(int(np.argmax([u.get(i) for i in range(u.size())])))
    return found


def largest_relative(ours: Array, theirs: Array) -> float:
    """Return the largest difference of any column, relative to its peak; columns along the first axis."""
    gap = np.abs(ours - theirs).reshape(len(ours), -1).max(axis=0)
    peak = np.abs(theirs).reshape(len(theirs), -1).max(axis=0)
    assert np.isfinite(gap).all()
    return float((gap[peak > 0.0] / peak[peak > 0.0]).max())
