"""The status bits of a frame, such as degraded or not converged, from the outcome of the kinematic solver."""

from __future__ import annotations

from rtsim.methods.kinematics.multibody import Solution
from streams.messages import Status


def status_of(solution: Solution, plausible: bool) -> Status:
    """Return the status bits of a frame: degraded if the markers do not determine all degrees of freedom,
    suspect if markers are faulty, not converged if the solver did not converge.

    If the frame is not plausible, it is "invalid input" alone.

    plausible : whether the frame's markers can be those of a person at all
    """
    if not plausible:
        return Status.INVALID_INPUT
    status = Status.OK
    if solution.n_open or not solution.n_visible:
        status |= Status.DEGRADED
    if solution.n_fault:
        status |= Status.SUSPECT
    return status if solution.converged else status | Status.NOT_CONVERGED
