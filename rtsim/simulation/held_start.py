"""Start of a simulation that satisfies its constraints: coordinates, then speeds, with the least changes in
the metric of the masses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.dynamics.reduction import set_time
from kernels.rosenbrock.projection import LOST, put_on_constraints
from rtsim.errors import ModelError
from rtsim.models.packing.joints import rotations, translations
from rtsim.simulation.model_state import ModelState

Array = NDArray[np.float64]
SLIGHT_PART = 1e-3
"""Part of its lever that a row adds to earlier ones below which it may be the rounding of a file [1]."""
GAP, RATE = 0, 1
"""Columns of kernels/rosenbrock/projection.write_gaps."""


class Met(NamedTuple):
    """How the start was made to satisfy the constraints: the largest violations before, the largest changes
    of coordinates that removed them, and which constraints are redundant.
    """

    gap: float  # largest violation in the start pose, before coordinates were changed [m]
    element: str  # name of the constraint with this violation
    turned: float  # largest change of an angle [rad]
    shifted: float  # largest change of a length [m]
    rate: float  # largest rate of a violation at the speeds that the settings give [m/s]
    n_row: int  # number of scalar constraints
    n_independent: int  # number of those that act
    left_out: tuple[str, ...]  # names of redundant constraints: others determine what they require
    slight: dict[str, float]  # acting constraints that are nearly redundant -> independence (see independent)


class StartShift(NamedTuple):
    """How the start pose was changed so that it satisfies the constraints: their violations before the
    change, and the largest rotation and translation of a joint in it.
    """

    gap: Array  # (n_row,) - violations before [m]
    turned: float  # [rad]
    shifted: float  # [m]


def meet_places(simulator: ModelState) -> StartShift | None:
    """Change simulator.q until the constraints are satisfied, except the coordinates named by `hold` in the
    settings of the simulation, which stay. Return the violations before and the change of the coordinates;
    None if the model has no constraints.

    Raises ModelError if the constraints cannot be satisfied from there.
    """
    model, own = simulator.model, simulator.work.holds
    if own is None:
        return None
    names = model.coordinates.names
    kept = [model.coordinates.dof[names.index(name)] for name in simulator.settings.hold]
    start = simulator.q.copy()
    before, after, met = put(simulator, kept)
    if not met:
        raise parted(simulator, int(np.nan_to_num(after[:, GAP], nan=np.inf).argmax()), after)
    independent(simulator)  # a row without slopes but for those kept is no rounding
    return StartShift(before[:, GAP], *moved(simulator, start))


def parted(simulator: ModelState, k: int, gaps: Array) -> ModelError:
    """Return the error for a start pose in which constraint k cannot be satisfied.

    gaps : (n_row, 2) - violations of the constraints [m] and their rates [m/s]"""
    model, settings = simulator.model, simulator.settings
    held = f" with {', '.join(settings.hold)} held fixed" if settings.hold else ""
    return ModelError(
        f"the pose at the start cannot be assembled{held}: a gap of {1e3 * gaps[k, GAP]:.3g} mm is left",
        where=f"{model.name}: {model.names.holds[k]}",
        remedy="correct the points of the constraints and the distances that they keep, or give neutral "
        "values nearer to a closed pose",
    )


def meet_speeds(simulator: ModelState, shift: StartShift | None) -> Met | None:
    """Change simulator.v to the nearest speeds that the constraints allow, except speeds that the settings
    name, which stay. Return how coordinates and speeds were changed; None if the model has no constraints.

    shift : what `meet_places` did to the coordinates before, None = no constraints
    Raises ModelError if the named speeds contradict the constraints.
    """
    model, own = simulator.model, simulator.work.holds
    if own is None or shift is None:
        return None
    before, after, _ = put(simulator, named_speeds(simulator))
    k, worst = int(after[:, RATE].argmax()), int(shift.gap.argmax())
    if not after[k, RATE] <= LOST * max(1.0, float(np.abs(simulator.v).max(initial=0.0))):
        raise ModelError(
            f"the speeds at the start separate constrained points by {1e3 * after[k, RATE]:.3g} mm/s",
            where=f"{model.name}: {model.names.holds[k]}",
            remedy="give fewer speeds in [simulation]: only those of independent coordinates, none that a "
            "coupler determines",
        )
    acting, slight = independent(simulator)
    names = model.names.holds
    return Met(
        gap=float(shift.gap[worst]),
        element=model.names.holds[worst],
        turned=shift.turned,
        shifted=shift.shifted,
        rate=float(before[:, RATE].max(initial=0.0)),
        n_row=len(own.multiplier),
        n_independent=len(acting),
        left_out=tuple(name for e, name in enumerate(names) if e not in acting),
        slight={names[e]: part for e, part in zip(acting, slight, strict=True) if part < SLIGHT_PART},
    )


def independent(simulator: ModelState) -> tuple[list[int], list[float]]:
    """Return the indices of the scalar constraints that act in the run, and the independence of each from the
    acting ones before it [1]: 0 means that it is a combination of these.

    The independence is the size of that part of the constraint's gradient that is not a combination of the
    earlier gradients, divided by an upper bound of the size of the whole gradient (kernels/solver/levers).
    Coordinates that the settings fix at the start are treated as free. The state is not changed. Raises
    ModelError if a constraint is violated.
    """
    own, q, v = simulator.work.holds, simulator.q.copy(), simulator.v.copy()
    assert own is not None
    before, _, _ = put(simulator, [])
    simulator.q[:], simulator.v[:] = q, v
    n = int(own.n_active[0])
    acting = own.active[:n].tolist()
    worst = max(acting, key=lambda e: before[e, GAP])
    if not before[worst, GAP] <= LOST:
        raise parted(simulator, worst, before)
    L = np.tril(own.rows.kernel[:n, :n])
    part = np.diag(L) / np.sqrt(np.sum(L * L, axis=1) * own.reach[:n])
    return acting, part.tolist()


def put(simulator: ModelState, kept: list[int]) -> tuple[Array, Array, bool]:
    """Project coordinates and speeds of the simulator onto the constraints, while the dofs with the indices
    `kept` stay fixed. Return the violations of the constraints and their rates before, and the same after,
    (n_row, 2) each, and whether all violations were removed.
    """
    own, work = simulator.work.holds, simulator.work
    assert own is not None
    before, after = np.zeros((2, len(own.multiplier), 2))
    set_time(simulator.simulation.couplers, simulator.start_time, work.reduction)
    own.kept[kept] = 1
    try:
        met = put_on_constraints(simulator.simulation, simulator.q, simulator.v, work, before, after)
    finally:
        own.kept[:] = 0
    return before, after, bool(met)


def named_speeds(simulator: ModelState) -> list[int]:
    """Return the indices of the dofs for which the settings of the simulation state a speed at the start."""
    model, settings = simulator.model, simulator.settings
    found = [int(model.coordinates.dof[model.coordinates.names.index(name)]) for name in settings.speeds]
    for table, joints in (
        (settings.velocities_mm_s, translations(model.tree)),
        (settings.turning_deg_s, rotations(model.tree)),
    ):
        for b, _, start in joints:
            if model.names.bodies[b] in table:
                found += range(start, start + 3)
    return found


def moved(simulator: ModelState, start: Array) -> tuple[float, float]:
    """Return the largest rotation [rad] and shift [m] of a joint between two poses: the coordinates start :
    (n_q,), and simulator.q.
    """
    coordinates, tree, q = simulator.model.coordinates, simulator.model.tree, simulator.q
    angle = np.abs(q - start)[coordinates.q]
    turned = float(angle[coordinates.is_angle].max(initial=0.0))
    shifted = float(angle[~coordinates.is_angle].max(initial=0.0))
    for _, at, _ in translations(tree):
        shifted = max(shifted, float(np.linalg.norm(q[at : at + 3] - start[at : at + 3])))
    for _, at, _ in rotations(tree):
        cosine = abs(float(q[at : at + 4] @ start[at : at + 4]))
        turned = max(turned, 2.0 * float(np.arccos(min(1.0, cosine))))
    return turned, shifted
