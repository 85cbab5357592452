"""The stoop lift forward in time: the planar body driven by the activations that its own motion needed.

From a moment of an analysed trial on, feet are held to the floor where they are (heels in both directions,
toes at their height), and where the box is in the hands, both wrists are held to it. Activations are splines
through those of the frames, extensors and flexors alike.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from kernels.dynamics.energy import energy_and_power
from kernels.dynamics.system import new_dynamics_work
from kernels.forces.generators import GIVEN_TORQUE
from kernels.tree import Pose, new_pose, pose
from rtsim.bench.stoop_lift import BOX_KG, RATE
from rtsim.config.model_schema import ModelSpec
from rtsim.files.recording import Results
from rtsim.models.model import Model, build
from rtsim.models.packing.holds import with_holds
from rtsim.simulation.held_start import meet_places, meet_speeds
from rtsim.simulation.load import Setup, simulator_of
from rtsim.simulation.run import run

Array = NDArray[np.float64]

SOLES_MM = {
    "r": ((-74.466, -98.153), (223.759, -101.341)), "l": ((-81.257, -95.567), (206.03, -114.545)),
}  # fmt: skip
"""Heel and tip of the toes in the feet, of the authors' model: x and y."""
BOX_INERTIA = 0.234375
"""Of the authors' model [kg m^2]."""
N_BEYOND = 3
"""Frames after the end that splines go through."""
EVERY = 20
"""Steps of 1 ms between two frames."""
DIFFERENCE_S = 1e-6


class Forward(NamedTuple):
    """What a simulation did beside the analysed motion.

    names : of the coordinates; off : (n, n_coordinate) - from the analysed ones [rad, m]
    energy, work : (n,) - kinetic and potential energy, and what generators had done since the start [J]
    """

    names: tuple[str, ...]
    off: Array
    energy: Array
    work: Array


def forward(spec: ModelSpec, results: Results, first: int, n_frame: int, box: Array | None = None) -> Forward:
    """Simulate n_frame frames of a trial from the frame `first` on.

    spec : the model that was analysed, with its torque generators
    box : (3,) - of the box at that time, where the hands hold it: x, y [m], turn [rad]
    """
    labels = {field.name: field.labels for field in results.session.fields}
    q, v = (results.fields[name][first] for name in ("coordinates", "coordinate_speeds"))
    model = build(spec)
    at, rates = placed(model, q), speeds_of(model, q, v)
    tables = msgspec.to_builtins(msgspec.structs.replace(spec, markers=()))
    set_start(tables, dict(zip(labels["coordinates"], q.tolist(), strict=True)))
    tables["torque_generators"]["activation"] = activations_from(results, first, n_frame)
    elements = [one for side in SOLES_MM for one in held_sole(model, at, side)]
    if box is not None:
        tables["bodies"] = [*tables["bodies"], box_at(box)]
        elements += [grip(model, at, side, box) for side in SOLES_MM]
    tables |= {"elements": elements, "methods": {"default": {"hard": [one["name"] for one in elements]}}}
    tables["simulation"] = {"duration_s": n_frame / RATE}
    driven = msgspec.convert(tables, ModelSpec)
    simulator = simulator_of(Setup(driven, driven.simulation, with_holds(driven, build(driven)), {}))
    simulator.v[: len(v)] = v
    if box is not None:
        simulator.v[len(v) : len(v) + 2] = rates[wrists_of(model)].mean(axis=0)[:2]
    meet_speeds(simulator, meet_places(simulator))
    # every step, for the work
    done = run(simulator, n_frame * EVERY, 1)
    trace, generators = done.trace, simulator.simulation.forces.generators
    assert generators is not None
    dofs = generators.dof
    power = (trace.generator[:, :, GIVEN_TORQUE] * trace.v[:, dofs]).sum(axis=1)
    work = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(done.times))])
    energy = np.array(
        [energy_of(simulator.model, row, rate) for row, rate in zip(trace.q, trace.v, strict=True)]
    )
    known = results.fields["coordinates"][first : first + n_frame + 1]
    return Forward(tuple(labels["coordinates"]), trace.q[::EVERY, : len(q)] - known, energy, work)


def placed(model: Model, q: Array) -> Pose:
    """Where the bodies are at q."""
    found = new_pose(len(model.tree.parent), model.n_v, len(model.tree.chains.dof))
    pose(model.tree, np.ascontiguousarray(q), found)
    return found


def speeds_of(model: Model, q: Array, v: Array) -> Array:
    """(n_body, 3) - speeds of the bodies' origins [m/s]."""
    ends = [placed(model, q + s * DIFFERENCE_S * v).position for s in (0.5, -0.5)]
    return (ends[0] - ends[1]) / DIFFERENCE_S


def wrists_of(model: Model) -> list[int]:
    """Both hands, whose origins are the wrists."""
    return [model.names.bodies.index(f"hand_{side}") for side in SOLES_MM]


def set_start(tables: dict[str, Any], at: dict[str, float]) -> None:
    """Neutral values of the coordinates of a model's tables."""
    for body in tables["bodies"]:
        for one in body["coordinates"]:
            lengths = one["name"] in ("pelvis_x", "pelvis_y")
            one["neutral_mm"] = 1e3 * at[one["name"]] if lengths else None
            one["neutral_deg"] = None if lengths else float(np.degrees(at[one["name"]]))


def activations_from(results: Results, first: int, n_frame: int) -> dict[str, Any]:
    """Of every generator a spline over the time since a frame [s]."""
    rows = slice(first, first + n_frame + N_BEYOND)
    times = (results.times[rows] - results.times[first]).tolist()
    spec = next(field for field in results.session.fields if field.name == "generator_activations")
    values = results.fields["generator_activations"][rows].T.tolist()
    return {
        name: {"spline": {"at": times, "value": row}} for name, row in zip(spec.labels, values, strict=True)
    }


def held_sole(model: Model, at: Pose, side: str) -> list[dict[str, Any]]:
    """A foot on the floor: its heel stays where it is, its toes at their height."""
    b, foot, found = model.names.bodies.index(f"foot_{side}"), f"foot_{side}", []
    for name, place in zip(("heel", "toe"), SOLES_MM[side], strict=True):
        local = np.array([*place, 0.0])
        ground = 1e3 * at.position[b] + at.rotation[b] @ local
        ends = {
            "a": {"segment": foot, "offset_mm": local.tolist()},
            "b": {"segment": "ground", "offset_mm": ground.tolist()},
        }
        kind = {"kind": "point"} if name == "heel" else {"kind": "plane", "normal": (0.0, 1.0, 0.0)}
        found.append({"name": f"{name}_{side}", **kind, **ends})
    return found


def box_at(box: Array) -> dict[str, Any]:
    """The box as a body of its own."""
    x, y, turn = box.tolist()
    return {
        "name": "box", "joint": "planar", "axes": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), "mass_kg": BOX_KG,
        "inertia_kg_m2": (BOX_INERTIA,) * 3,
        "coordinates": [
            {"name": "box_x", "neutral_mm": 1e3 * x}, {"name": "box_y", "neutral_mm": 1e3 * y},
            {"name": "box_turn", "neutral_deg": float(np.degrees(turn))},
        ],
    }  # fmt: skip


def grip(model: Model, at: Pose, side: str, box: Array) -> dict[str, Any]:
    """A wrist that stays where it is on the box."""
    c, s = np.cos(box[2]), np.sin(box[2])
    apart = at.position[model.names.bodies.index(f"hand_{side}")] - np.array([box[0], box[1], 0.0])
    local = 1e3 * np.array([c * apart[0] + s * apart[1], c * apart[1] - s * apart[0], 0.0])
    return {
        "name": f"grip_{side}", "kind": "point", "a": {"segment": f"hand_{side}"},
        "b": {"segment": "box", "offset_mm": local.tolist()},
    }  # fmt: skip


def energy_of(model: Model, q: Array, v: Array) -> float:
    """Kinetic and potential energy [J]."""
    n_v, out = model.n_v, np.zeros(2)
    motion = np.ascontiguousarray(q), np.ascontiguousarray(v), np.zeros(n_v)
    wrench, work = np.zeros((len(model.tree.parent), 6)), new_dynamics_work(model.tree)
    energy_and_power(model.system, motion, wrench, work, np.zeros(n_v), out)
    return float(out[0])
