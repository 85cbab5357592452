"""Packing of the exact constraints of a simulation ("holds") into the tables of kernels/rosenbrock/holds.

They are contacts, ligaments and other elements of a model's file that the simulation enforces exactly, in
place of a force law: a sphere stays on its plane, two points keep their distance. `simulation.holds` in the
file names them; without it they are the hard constraints of the model's first method.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import numpy as np

from kernels.dynamics.constraints import Constraints
from kernels.rosenbrock.holds import Holds
from kernels.solver.constraints import Elements
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.models.model import Model
from rtsim.models.packing.bodies import body_index
from rtsim.models.packing.couplers import no_couplers
from rtsim.models.packing.elements import scalar_elements
from rtsim.models.packing.forces import PairTable
from rtsim.models.roles import find_method, roles_among
from rtsim.subjects.anatomy import for_person
from rtsim.subjects.subject import Subject


def with_holds(spec: ModelSpec, model: Model, subject: Subject | None = None) -> Model:
    """Add to a model the exact constraints that its simulation enforces (see the module); ConfigError if an
    element cannot be one.

    subject : person to whom the model is adapted; None = the model has its own sizes
    """
    if subject is not None:
        spec = for_person(spec, subject)
    if not spec.held:
        return model
    every = scalar_elements(spec)
    chosen = [e for e, row in enumerate(every) if row.record in spec.held]
    rows, pairs = [every[e] for e in chosen], PairTable(model.tree, body_index(spec))
    how = find_method(spec)
    for row in rows:
        if how.target == "polynomial" and row.length.polynomial:
            raise ConfigError(
                "the length of this element depends on an angle in the model's first solution method",
                where=f"model {spec.name}: {row.where}",
                remedy="give the element a constant length, or remove it from simulation.holds",
            )
    roles = roles_among(rows, msgspec.structs.replace(how, hard=spec.held, soft={}, target="fixed"))
    # no element of a model's file is a path: its tables of lengths are None
    columns: list[Any] = [x if x is None else np.ascontiguousarray(x[chosen]) for x in model.elements]
    elements = Elements._make(columns)
    pair = np.array([pairs.find(row.a.segment, row.b.segment, row.where) for row in rows], np.int64)
    names = dataclasses.replace(model.names, holds=tuple(row.name for row in rows))
    held = Holds(Constraints(elements, roles, no_couplers()), pairs.build(), pair)
    return dataclasses.replace(model, names=names, holds=held)
