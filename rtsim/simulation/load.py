"""Loading of a model, by its name or file, for a simulation: it ends with a simulator at its start, or with
an error that states the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
import numpy as np

from kernels.dynamics.mass import mass_matrix
from kernels.dynamics.reduction import new_reduction_work, reduced_mass
from kernels.dynamics.system import new_dynamics_work
from rtsim.config.models.force_checks import holdable
from rtsim.config.models.force_schema import SimulationSpec
from rtsim.config.models.model_checks import check_inertias
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.errors import ConfigError, ModelError
from rtsim.models.load import Note, load_model
from rtsim.models.model import Model, build
from rtsim.models.packing.couplers import drivers_first
from rtsim.models.packing.driven_generators import generator_names
from rtsim.models.packing.holds import with_holds
from rtsim.simulation.motion import (
    awaiting,
    check_motion,
    with_motion,
    with_prescribed,
    within,
)
from rtsim.simulation.simulator import Simulator
from rtsim.subjects.subject import load_subject
from streams.addresses import is_stream

NO_MASS = 1e-14
"""Inertia of a coordinate, relative to the largest one, that counts as none."""


class Setup(NamedTuple):
    """The model, settings and load factors of a simulation. They have been read, and checked as far as
    possible without compiling a kernel.
    """

    spec: ModelSpec  # with the motion of prescribed coordinates
    settings: SimulationSpec
    model: Model
    gains: Mapping[str, float]  # load -> factor by which it is multiplied


def load_simulator(name: str, **options: Any) -> Simulator:
    """Load a model, by its name or file, and return a simulator at its start; options : keyword arguments of
    `read_setup`, such as a motion or a step length
    """
    return simulator_of(read_setup(name, **options))


def read_setup(
    name: str,
    subject: str | None = None,
    gains: Mapping[str, float] | None = None,
    note: Note = lambda text: None,
    motion: str = "",
    prescribed: tuple[str, ...] = (),
    excited: Mapping[str, float] | None = None,
    **changes: Any,
) -> Setup:
    """Read and check the setup of a simulation: a model (.toml, .osim or a shipped name) and the options of a
    run.

    subject : person whose anatomy scales the model, if it depends on one; gains : factor by which each load
        is multiplied
    note : called with sentences on parts of the model that are left out or have no effect
    motion : file or address of the motion of prescribed coordinates; prescribed : further coordinates to
        prescribe
    excited : excitations of muscles and torque generators, 0 to 1, instead of the model's
    changes : new values of keys in the model's table [simulation]; None = unchanged
    """
    spec = with_excitations(with_prescribed(load_model(name, note), prescribed), excited or {})
    check_spec(spec, subject, gains or {}, note)
    check_motion(spec, motion)
    if is_stream(motion):
        spec = awaiting(spec)
    elif motion:
        spec, length = with_motion(spec, motion, note)
        changes["duration_s"] = within(length, changes.get("duration_s"), motion)
    person = load_subject(find_config(subject, "subjects")) if subject else None
    given = {key: value for key, value in changes.items() if value is not None}
    model = with_holds(spec, build(spec, person), person)
    check_settings(spec, model)
    return Setup(spec, msgspec.structs.replace(spec.simulation, **given), model, gains or {})


def with_excitations(spec: ModelSpec, excited: Mapping[str, float]) -> ModelSpec:
    """Return the model with new excitations of some muscles and generators; ConfigError for names that it
    does not have."""
    muscles = {muscle.name: muscle for muscle in spec.muscles}
    turning, driven = generator_names(spec), spec.torque_generators
    for name, excitation in excited.items():
        able = [*(one for one, muscle in muscles.items() if muscle.hill is not None), *turning]
        if name not in able:
            what = "muscle or torque generator" if turning else "muscle"
            raise ConfigError(
                f"the model has no {what} {name!r} with a force",
                where=f"--excite (model {spec.name})",
                allowed=", ".join(able) or "none: the model has no muscle with `hill` and no generators",
            )
        if not 0.0 <= excitation <= 1.0:
            raise ConfigError(f"{name}={excitation:g}", where="--excite", allowed="0 to 1")
        if name in muscles:
            muscles[name] = msgspec.structs.replace(muscles[name], excitation=excitation)
        elif driven is not None:
            others = {one: level for one, level in driven.activation.items() if one != name}
            level = {**driven.excitation, name: excitation}
            driven = msgspec.structs.replace(driven, activation=others, excitation=level)
    return msgspec.structs.replace(spec, muscles=tuple(muscles.values()), torque_generators=driven)


def simulator_of(setup: Setup) -> Simulator:
    """Create the simulator of a setup, at its start."""
    check_mass(setup.spec, setup.model)
    simulator = Simulator(setup.model, setup.settings)
    if setup.gains:
        set_gains(simulator, setup.gains)
    return simulator


def check_spec(
    spec: ModelSpec, subject: str | None, gains: Mapping[str, float], note: Note = lambda text: None
) -> None:
    """Raise ConfigError for faults of a model that can be found without compiling a kernel; call `note` with
    sentences on elements without effect.

    subject : person whose anatomy scales the model, None = none; gains : factor of each load, by name
    """
    check_inertias(spec, note)
    check_holds(spec, note)
    if spec.of_subject and subject is None:
        raise ConfigError(
            "the model has points or axes that are anatomical landmarks of a subject",
            where=f"model {spec.name}",
            remedy="add --subject",
        )
    names = [load.name for load in spec.loads]
    for name in gains:
        if name not in names:
            raise ConfigError(
                f"unknown load {name!r}",
                where=spec.name,
                allowed=", ".join(names) or "none: the model has no [[loads]]",
            )


def check_holds(spec: ModelSpec, note: Note) -> None:
    """Raise ConfigError for exact constraints of a model that a simulation cannot satisfy; call `note` with
    sentences on settings without effect.
    """
    how = next(iter(spec.methods.values()))
    for name in spec.held:
        for kind, acting in (
            ("contacts", [contact.name for contact in spec.contacts if contact.presses]),
            ("ligaments", [ligament.name for ligament in spec.ligaments if ligament.pulls]),
        ):
            if name in acting:
                raise ConfigError(
                    "the method of the model keeps the length of this element constant, and in a "
                    "simulation the force law of the element would act as well",
                    where=f"model {spec.name}: {kind}.{name}",
                    remedy="list the constraints of a simulation in simulation.holds, or remove the force "
                    "law",
                )
    if spec.held and spec.simulation.equilibrium != "none":
        raise ConfigError(
            f"no static equilibrium can be computed for a model with exact constraints ({spec.held[0]})",
            where=f"model {spec.name}: simulation.equilibrium",
            allowed="none",
        )
    if spec.rolls:
        raise ConfigError(
            "the element rolls without slipping, and forward simulation does not support this "
            "constraint of velocity",
            where=f"model {spec.name}: rolls.{spec.rolls[0].name}",
            remedy="replace the element by a contact with friction, or remove it",
        )
    soft = [name for name in how.soft if name not in spec.held]
    loose = [name for name in how.hard if name not in spec.held and name in holdable(spec)]
    if soft:
        note(f"soft elements carry no force in a simulation: {', '.join(soft)}")
    if loose:
        note(
            "simulation.holds does not list these constraints of the model's first solution method, so a "
            f"simulation does not enforce them: {', '.join(loose)}"
        )
    weak = [muscle.name for muscle in spec.muscles if muscle.hill is None]
    if weak:
        note(f"muscles without `hill` carry no force: {', '.join(weak)}")
    if len(weak) < len(spec.muscles) and not any(muscle.excitation for muscle in spec.muscles):
        note("no muscle has an excitation, so all muscles are passive, at their lowest activation")


def check_settings(spec: ModelSpec, model: Model) -> None:
    """Raise ConfigError where the table [simulation] of a model names a coordinate that the simulation does
    not have as its own, because the model's method replaces its joint, or a coupler determines it.
    """
    given = [coupler.coordinate for coupler in spec.couplers]
    for key in ("hold", "speeds"):
        for name in getattr(spec.simulation, key):
            if name in given:
                raise ConfigError(
                    f"the coordinate {name!r} is determined by its coupler",
                    where=f"model {spec.name}: simulation.{key}",
                    remedy="name the coordinate to which it is coupled, or remove it",
                )
    for key in ("hold", "speeds", "plot"):
        for name in getattr(spec.simulation, key):
            if name not in model.coordinates.names:
                raise ConfigError(
                    f"the coordinate {name!r} does not exist in a simulation, which uses the joints of the "
                    "model's first solution method",
                    where=f"model {spec.name}: simulation.{key}",
                    allowed=", ".join(model.coordinates.names) or "none",
                )


def check_mass(spec: ModelSpec, model: Model) -> None:
    """Raise ModelError if no coordinate can move, or if a coordinate moves without any mass."""
    n_v, where = model.n_v, f"model {spec.name}"
    if not n_v:
        raise ModelError("nothing can move", where=where, remedy="add a body with a joint other than a weld")
    M, q, work = np.zeros((n_v, n_v)), model.q_neutral.copy(), new_dynamics_work(model.tree)
    if len(model.couplers.dof):
        couplers, own = drivers_first(model.couplers), new_reduction_work(n_v)
        reduced_mass(model.system, couplers, q, np.zeros(n_v), work, own, M)
    else:
        mass_matrix(model.system, q, work, M)
    M = np.tril(M) + np.tril(M, -1).T
    if not np.isfinite(M).all():
        raise ModelError("the masses are too large to add up", where=where, remedy="correct mass_kg")
    free = np.setdiff1d(np.arange(n_v), model.couplers.dof)
    if not len(free):
        return
    size, ways = np.linalg.eigh(M[np.ix_(free, free)])
    if size[0] > NO_MASS * size[-1]:
        return
    d = int(free[np.abs(ways[:, 0]).argmax()])
    body = spec.bodies[int(model.tree.dof_body[d])].name
    names = dict(zip(model.coordinates.dof.tolist(), model.coordinates.names, strict=True))
    raise ModelError(
        f"{'the coordinate ' + names[d] if d in names else 'its joint'} does not move any mass",
        where=f"{where}: bodies.{body}.mass_kg",
        remedy="give mass_kg, and inertia_kg_m2 for a rotation, to this body or to a body that it carries",
    )


def set_gains(simulator: Simulator, gains: Mapping[str, float]) -> None:
    """Set the factor of each load, by name, and compute the initial state again, since it may depend on
    the loads."""
    names = simulator.model.names.loads
    for name, gain in gains.items():
        simulator.gain[names.index(name)] = gain
    if simulator.settings.equilibrium == "loaded":
        simulator.reset()
