"""Detection of segments that step: within one frame all markers of a segment are displaced from their path
together, as a rigid body.

Markers that are fixed to a bone never do this, but joints may follow the displacement without a residual.
Causes are a cluster that was hit or rotated, or data of another system that lag behind. Such a segment counts
as displaced ("off") until it steps back, or is invisible for too long to be predicted. If the model fits
better right after a step, the step was the return of a segment that had been displaced before. If no residual
confirms the step, the segment counts as displaced until its new position is learnt.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.algebra.copying import copy, copy_matrix
from kernels.compiler.jit import njit
from kernels.faults.added import (
    FORESEEN_S,
    MarkerMotion,
    find_added,
    go_on,
    learn_added,
    length,
    new_motion,
)
from kernels.markers.marker_health import distance_between, is_known, is_seen

QUIET_S, QUIET = 0.1, 0.5
"""Time for which the next frames must confirm a step [s], with none of them adding more than this part of it:
noise continues."""
BACK = 0.35
"""Largest displacement that may remain after a return, as a part of the step of the return."""
BETTER, TELLS = 0.66, 0.003
"""Ratio of the mean square of a segment's departures from its usual places to that before, at which a step
was the way back, and root mean square of the latter from which that is no coincidence [m]."""
STEPPED, OFF = 1, 2
"""State of a segment that has just stepped, to be confirmed by the next frames;
of one that is off since earlier."""


class Steps(NamedTuple):
    """State of each segment in the search for steps: its motion, the last step, how far it is displaced, and
    the residuals.
    """

    motion: MarkerMotion
    # sizes of the last step where they were more than allowed, else inf [m, rad]
    step: Annotated[np.ndarray, Floats("n_body", 2)]
    quiet: Annotated[np.ndarray, Floats("n_body")]  # time since then [s]
    seen: Annotated[np.ndarray, Integers("n_body")]  # its markers that are seen
    gone: Annotated[np.ndarray, Floats("n_body")]  # time for which less than two markers have been seen [s]
    # sum of its steps [m, rad]: shift and rotation in ground, then both in its own axes
    net: Annotated[np.ndarray, Floats("n_body", 4, 3)]
    state: Annotated[np.ndarray, Integers("n_body")]  # 0 = not displaced, STEPPED, OFF
    turned: Annotated[np.ndarray, Floats("n_body", 3, 3)]  # its axes in ground, in the last frame
    # time for which no residual has confirmed that it is displaced [s]
    lasted: Annotated[np.ndarray, Floats("n_body")]
    # residuals minus their means: sum of squares [m^2], and number of markers
    departing: Annotated[np.ndarray, Floats("n_body", 2)]
    departed: Annotated[np.ndarray, Floats("n_body", 2)]  # those of the last frame
    # mean square of them about a segment, before it stepped [m^2]
    before: Annotated[np.ndarray, Floats("n_body")]


def new_steps(n_marker: int, n_body: int) -> Steps:
    """Allocate the Steps, the state of the search for sudden displacements, of n_body bodies before the first
    frame.
    """
    return allocate(Steps, n_body=n_body, motion=new_motion(n_marker, n_body))


@njit
def find_steps(markers, parent, rotation, dt, options, health, steps):
    """Find segments whose markers were all displaced together within one frame (a step) and have not returned
    since; return their number. It is called after a frame is solved.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    parent : (n_body,) int64 - the body that carries each, -1 = none
    rotation : (n_body, 3, 3) - axes of the bodies in ground, of the solution
    dt : float - time since the last frame [s]; 0 = unknown
    options : HealthOptions - settings of the checks of single markers
    health : Health - state of each marker, kept from frame to frame; its fields labelled, weight, residual
        and mean_residual are read
    steps : Steps - state of each segment in the search for steps, written
    """
    motion, n_body = steps.motion, steps.state.shape[0]
    find_added(markers.body, dt, health, motion)
    count_departures(markers.body, options, health, steps)
    n_judged, n_found, n_off = 0, 0, 0
    for b in range(n_body):
        n_judged += int(motion.allowed[b, 0] > 0.0)
        n_found += motion.found[b]
    whole = 2 * n_found > n_judged
    for b in range(n_body):
        if whole:  # the person, or all labels: others tell, and nothing is foreseen
            motion.found[b] = steps.state[b] = 0
        elif motion.allowed[b, 0] > 0.0:
            follow_step(b, parent, dt, steps)
            if steps.state[b] > 0:
                outlive(b, parent, dt, options, steps)
            learn_added(b, motion)
        steps.gone[b] = 0.0 if steps.seen[b] >= 2 else steps.gone[b] + dt
        if max(dt, steps.gone[b]) > FORESEEN_S:  # nobody knows where it, or what of it, is back
            steps.state[b] = 0
        n_off += int(steps.state[b] > 0)
        for i in range(3):
            copy(rotation[b, i], steps.turned[b, i])
    go_on(markers.body, whole, dt, health, motion)
    copy_matrix(steps.departing, steps.departed)
    return n_off


@njit
def follow_step(b, parent, dt, steps):
    """Update the state of body b in the search for steps (sudden displacements of all its markers), for a
    frame in which its motion could be judged.

    parent : (n_body,) int64 - parent of each body, -1 = none
    dt : float - time since the last frame [s]
    steps : Steps - state of each segment; its fields net and state are written, and at a step also quiet,
        lasted, before and step
    """
    net, added = steps.net[b], steps.motion.added[b]
    if steps.motion.found[b] == 0:
        if steps.state[b] == STEPPED:
            bear_out(b, dt, steps)
        return
    if steps.state[b] == 0:
        net[:, :] = 0.0
    for k in range(2):
        own = net[2 + k]
        for i in range(3):
            net[k, i] += added[k, i]
            for j in range(3):
                own[i] += steps.turned[b, j, i] * added[k, j]
    if (
        fits_better(b, parent, steps)
        or steps.state[b] == STEPPED
        or is_back(b, 0, steps)
        or is_back(b, 2, steps)
    ):
        steps.state[b] = 0
    elif steps.state[b] == 0:
        steps.state[b], steps.quiet[b], steps.lasted[b] = STEPPED, 0.0, 0.0
        steps.before[b] = about(b, parent, steps.departed)
        for k in range(2):
            size = length(added[k])
            steps.step[b, k] = size if size > steps.motion.allowed[b, k] else math.inf


@njit
def bear_out(b, dt, steps):
    """Confirm or dismiss a recent step of body b (a sudden displacement of all its markers) by the frames
    that follow it.

    The step is confirmed once no further displacement has followed for some time; it is dismissed if noise or
    violent motion displaces the body by more than half of the step.

    dt : float - time since the last frame [s]
    steps : Steps - state of each segment in the search for steps; its fields quiet and state are written
    """
    steps.quiet[b] += dt
    if steps.quiet[b] >= QUIET_S:
        steps.state[b] = OFF
    for k in range(2):
        if length(steps.motion.added[b, k]) > QUIET * steps.step[b, k]:
            steps.state[b] = 0


@njit
def is_back(b, first, steps):
    """Return whether body b has returned from earlier steps: the sum of the displacements by all of them is
    smaller than allowed, or a small part of the last one.

    b : int - index of the body
    first : int - 0 = displacement resolved in ground, 2 = in the body's own axes
    steps : Steps - state of each segment in the search for steps
    """
    if steps.state[b] == 0:
        return False
    shift, turn = length(steps.motion.added[b, 0]), length(steps.motion.added[b, 1])
    return length(steps.net[b, first]) <= max(steps.motion.allowed[b, 0], BACK * shift) and length(
        steps.net[b, first + 1]
    ) <= max(steps.motion.allowed[b, 1], BACK * turn)


@njit
def count_departures(body, options, health, steps):
    """Write, for each body, the sum of the squared differences of its markers' residuals from their mean
    residuals.

    Only markers with a known mean count. The sums go into steps.departing, the numbers of visible markers
    into steps.seen.

    body : (n_marker,) int64 - body of each marker
    options : HealthOptions - settings of the checks of single markers
    health : Health - state of each marker, kept from frame to frame; its fields residual and mean_residual
        are read
    steps : Steps - state of each segment in the search for steps; its fields departing and seen are written
    """
    steps.departing[:, :] = 0.0
    steps.seen[:] = 0
    for m in range(body.shape[0]):
        b = body[m]
        if b < 0 or not is_seen(health.labelled, m):
            continue
        steps.seen[b] += 1
        if health.weight[m] > 0.0 and is_known(m, options, health):
            steps.departing[b, 0] += distance_between(health.residual[m], health.mean_residual[m]) ** 2
            steps.departing[b, 1] += 1.0


@njit
def about(b, parent, departures):
    """Return the mean square departure of the markers' residuals from their means, over body b, its parent
    and its children [m^2]; 0 without markers.

    b : int - body
    parent : (n_body,) int64 - -1 = none
    departures : (n_body, 2) - sum of squared departures and number of markers of each body, as in
        Steps.departing
    """
    total, n = 0.0, 0.0
    for k in range(parent.shape[0]):
        if k == b or parent[k] == b or parent[b] == k:
            total += departures[k, 0]
            n += departures[k, 1]
    return total / n if n > 0.0 else 0.0


@njit
def fits_better(b, parent, steps):
    """Return whether the residuals of body b, alone or with its neighbours, are far nearer to their means
    than in the last frame. A step of the body in this frame was then its return from an earlier displacement.

    parent : (n_body,) int64 - parent of each body, -1 = none
    """
    now, then = steps.departing[b], steps.departed[b]
    if then[0] >= TELLS * TELLS * then[1] and now[0] * then[1] <= BETTER * then[0] * now[1]:
        return now[1] > 0.0
    before = about(b, parent, steps.departed)
    return before >= TELLS * TELLS and about(b, parent, steps.departing) <= BETTER * before


@njit
def outlive(b, parent, dt, options, steps):
    """End the state OFF (all markers displaced by a step) of body b if no residual has confirmed it for the
    time options.relearn, after which the new positions are taken as right.

    b : int - body
    parent : (n_body,) int64 - parent of each body, -1 = none
    dt : float - time since the last frame [s]
    options : HealthOptions - settings of the checks of single markers
    steps : Steps - state of each segment in the search for steps; its fields lasted and state are written
    """
    usual = max(steps.before[b], TELLS * TELLS) / BETTER
    steps.lasted[b] = steps.lasted[b] + dt if about(b, parent, steps.departing) <= usual else 0.0
    if steps.state[b] == OFF and steps.lasted[b] > options.relearn:
        steps.state[b] = 0
