"""Reactions of one-sided elements, which can only push or only pull, as tables for the recruitment, the
optimization that finds muscle forces.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.solver.constraints import HARD, OFF, Roles
from rtsim.config.models.model_schema import ModelSpec
from rtsim.models.packing.elements import ScalarElement


class Reactions(NamedTuple):
    """One-sided reactions of a model by name. Each reaction is the force of a constraint, its element; it
    acts if a method uses this constraint as a hard (exact) one."""

    names: tuple[str, ...]
    element: NDArray[np.int64]  # (n_reaction,) - index of the scalar constraint
    strength: NDArray[np.float64]  # (n_reaction,) - positive where it pushes, negative where it pulls [N]

    def held(self, roles: Roles) -> Reactions:
        """Return the reactions that act in a method: those whose constraints it uses as hard (exact) ones.
        roles : how the method uses each constraint"""
        kept = np.flatnonzero(roles.mode[self.element] == HARD)
        return Reactions(tuple(self.names[k] for k in kept), self.element[kept], self.strength[kept])

    def released(self, roles: Roles) -> Roles:
        """Return the roles of a method with the constraints of these reactions switched off.

        Their forces are unknowns of the recruitment instead, which finds them together with the muscle
        forces.
        """
        mode = roles.mode.copy()
        mode[self.element] = OFF
        return roles._replace(mode=mode)


def pack_reactions(spec: ModelSpec, rows: list[ScalarElement]) -> Reactions:
    """Find the one-sided reactions of a model among its scalar constraints, `rows`."""
    names = [row.name for row in rows]
    sign = {"pushes": 1.0, "pulls": -1.0}
    return Reactions(
        tuple(reaction.name for reaction in spec.reactions),
        np.array([names.index(reaction.element) for reaction in spec.reactions], np.int64),
        np.array([sign[reaction.acts] * reaction.strength_N for reaction in spec.reactions]),
    )
