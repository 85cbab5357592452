"""Torque generators of a model's coordinates, with their activations or excitations over time."""

from __future__ import annotations

import numpy as np

from kernels.forces.generators import DrivenGenerators
from rtsim.config.models.function_schema import FunctionSpec
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.models.generator_sets import generators_of
from rtsim.models.packing.functions import FunctionTable
from rtsim.models.packing.joints import Coordinates
from rtsim.models.packing.torque_generators import pack_generators

REST = FunctionSpec(constant=0.0)


def generator_names(spec: ModelSpec) -> tuple[str, ...]:
    """Return the names of a model's torque generators, in the order of their table."""
    if spec.torque_generators is None:
        return ()
    return tuple(one.name for one in generators_of(spec.torque_generators.set))


def pack_driven_generators(spec: ModelSpec, coordinates: Coordinates) -> DrivenGenerators | None:
    """Pack the torque generators; None for a model without. ConfigError for an unknown coordinate or
    generator.
    """
    said = spec.torque_generators
    if said is None:
        return None
    placed, where = generators_of(said.set), f"torque_generators of model {spec.name}"
    names = [one.name for one in placed]
    for key, by_name in (("activation", said.activation), ("excitation", said.excitation)):
        if unknown := [name for name in by_name if name not in names]:
            raise ConfigError(
                f"there is no generator {unknown[0]!r}", where=f"{where}.{key}", allowed=", ".join(names)
            )
    at = np.array([coordinates.find(one.joint.coordinate, where) for one in placed], np.int64)
    if sliding := [
        one.joint.coordinate for one, k in zip(placed, at, strict=True) if not coordinates.is_angle[k]
    ]:
        raise ConfigError(
            f"the coordinate {sliding[0]} is not an angle",
            where=where,
            remedy="name coordinates of hinges in the set's joints",
        )
    table, levels = FunctionTable(), said.activation | said.excitation
    given = [levels.get(name, REST) for name in names]
    functions = [x if isinstance(x, FunctionSpec) else FunctionSpec(constant=x) for x in given]
    rows = np.array([table.add(function) for function in functions], np.int64)
    excited = np.array([name in said.excitation for name in names], np.int64)
    return DrivenGenerators(
        generators=pack_generators(placed),
        coordinate=coordinates.q[at],
        dof=coordinates.dof[at],
        functions=table.build(),
        given=rows,
        excited=excited,
    )
