"""Names for the entries of a model's generalized coordinates q and speeds v, also for those that the model
does not name.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.joints.motions import TRANSLATES
from rtsim.models.model import Model
from rtsim.models.packing.joints import rotations, translations
from rtsim.quantity import AXES, QUATERNION


def coordinate_names(model: Model) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the entries of q and of v."""
    tree, bodies = model.tree, model.names.bodies
    q_names, v_names = [""] * len(model.q_neutral), [""] * model.n_v
    for name, q, dof in zip(model.coordinates.names, model.coordinates.q, model.coordinates.dof, strict=True):
        q_names[q] = v_names[dof] = name
    for b, q, v in translations(tree):
        for k, axis in enumerate(AXES):
            q_names[q + k] = v_names[v + k] = f"{bodies[b]}_{axis}"
    for b, q, v in rotations(tree):
        q_names[q : q + 4] = [f"{bodies[b]}_q{part}" for part in QUATERNION]
        v_names[v : v + 3] = [f"{bodies[b]}_turn_{part}" for part in AXES]
    return (
        tuple(name or f"coordinate_{k + 1}" for k, name in enumerate(q_names)),
        tuple(name or f"dof_{k + 1}" for k, name in enumerate(v_names)),
    )


def coordinate_units(model: Model) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the units of the entries of q, and those of v without "/s"; "1" for parts of quaternions."""
    q_units, v_units = [""] * len(model.q_neutral), ["rad" if turns else "m" for turns in turning(model)]
    for q, dof in zip(model.coordinates.q, model.coordinates.dof, strict=True):
        q_units[q] = v_units[dof]
    for _, q, _ in translations(model.tree):
        q_units[q : q + 3] = ["m"] * 3
    for _, q, _ in rotations(model.tree):
        q_units[q : q + 4] = ["1"] * 4
    return tuple(q_units), tuple(v_units)


def turning(model: Model) -> NDArray[np.bool_]:
    """Return a mask (n_v,) of the speeds that are rates of angles."""
    turns = np.asarray(model.tree.dof_rotates != TRANSLATES)
    turns[model.coordinates.dof] = model.coordinates.is_angle
    return turns
