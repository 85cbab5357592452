"""The status bits of a solution."""

from __future__ import annotations

from rtsim.methods.kinematics.multibody import Solution
from streams.messages import Status


def status_of(solution: Solution, plausible: bool) -> Status:
    """Return the status bits for a solution of the solver."""
    if not plausible:
        return Status.INVALID_INPUT
    status = Status.OK
    if solution.n_open or not solution.n_visible:
        status |= Status.DEGRADED
    if solution.n_fault:
        status |= Status.SUSPECT
    return status if solution.converged else status | Status.NOT_CONVERGED
