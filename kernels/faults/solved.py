"""Detection of faults after a frame's pose is solved: residuals that are unusual or jump, and segments of
which all markers are displaced.
"""

from __future__ import annotations

import math

from kernels.algebra.copying import copy
from kernels.compiler.jit import njit
from kernels.faults.innovation import has_leapt, is_where_predicted
from kernels.faults.verdict import in_doubt, suspect
from kernels.markers.marker_health import OUTLIER, SEGMENT, distance_between, is_blamed, is_known, unusual

BUMPED = 0.03
"""Largest distance of the mean residual of a segment's markers from its usual value that is no fault [m]."""
SETTLED = 0.5
"""Part of the bound within which a residual counts as usual again and ends a doubt ..."""
OFTEN = 9.0
"""... and the ratio of its squared distance from the usual residual to the mean square up to which it does so
anywhere within the bound: three standard deviations are usual (kernels/uncertainty/variance_inflation)."""
CALM = 0.05
"""Where markers were left out as outliers a doubt ends when nothing has been at fault for as long as they
were, at most for this time [s]: half of the time in which a status should recover (docs/damage.md)."""


@njit
def weigh_worst(markers, options, health, segments):
    """Mark the marker with the most unusual residual at the solution as at fault, and leave it out if the
    options say that markers at fault are left out; return False if none is unusual.

    Only the worst marker is marked, because a wrong marker changes its neighbours' residuals as well.
    Segments with enough markers that agree with each other (segments.sound) are passed over.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    options : HealthOptions - settings of the checks of single markers
    health : Health - its residual holds the residuals of the solution; fault and weight are written
    segments : Segments - state of each segment, kept from frame to frame
    """
    worst, most = -1, 1.0
    for m in range(markers.body.shape[0]):
        if health.weight[m] == 1.0 and not is_blamed(m, health) and segments.sound[markers.body[m]] == 0:
            ratio = unusual(m, options, health)
            if ratio > most:
                worst, most = m, ratio
    if worst < 0:
        return False
    health.fault[worst] = OUTLIER
    if options.downweight[0] == 1:
        health.weight[worst] = 0.0
    return True


@njit
def judge_solved(markers, dt, options, health, segments):
    """Find markers at fault by the residuals of the solved pose, and update for how long each segment has
    had such markers (has been in doubt); return how many markers are at fault.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    dt : float - time since the last frame [s]
    options : HealthOptions - settings of the checks of single markers
    health : Health - state of each marker; its residual holds the residuals of the solution. Written are
        fault (kind of fault), good (residual in the last frame without a fault) and good_age (time since
        that frame [s])
    segments : Segments - state of each segment, kept from frame to frame. Written are doubted (time for which
        markers of it have been at fault [s]), barred (the part of this time in which outliers were left out
        of the solution [s]) and calm (time since the last frame with a marker at fault [s])
    """
    n_fault, gone, back = 0, False, False
    for m in range(markers.body.shape[0]):
        gone = gone or (health.weight[m] == 0.0 and segments.away[m] == 0.0)
        back = back or (health.weight[m] > 0.0 and segments.away[m] > 0.0)
    for b in range(segments.doubted.shape[0]):
        n_pose = find_leaps(markers, b, dt, gone or not back, options, health, segments)
        if is_bumped(markers, b, options, health):
            suspect(markers, b, health)
            n_pose = 0
        n, n_there, barred = 0, 0, False
        for m in range(markers.body.shape[0]):
            if markers.body[m] == b:
                n += int(is_blamed(m, health))
                n_there += int(health.weight[m] > 0.0)
                barred = barred or (health.fault[m] == OUTLIER and health.weight[m] == 0.0)
        if n > n_pose:
            segments.doubted[b] += dt
            segments.barred[b] += dt if barred else 0.0
            segments.calm[b] = 0.0
        elif n_there > 0 and is_calm(b, dt, options, segments):
            segments.doubted[b] = segments.barred[b] = segments.calm[b] = 0.0
        elif n_there > 0:
            suspect(markers, b, health)
            n = n_there
        n_fault += n
    return n_fault


@njit
def is_calm(b, dt, options, segments):
    """Return whether body b, on which no marker is found at fault in this frame, is free of doubt: it was not
    in doubt before (see in_doubt), or no fault has been found on it for long enough.

    A doubt because of markers that were left out ends only after some time without a fault, as one frame
    without a fault may be a coincidence: three markers agree even if one of them moves across their plane,
    noise is small in some frames, and a pose with new markers is not compared with the last one.

    b : int - body
    dt : float - time since the last frame [s]
    options : HealthOptions - settings of the checks of single markers
    segments : Segments - state of each segment, kept from frame to frame; its field calm, the time since the
        last frame with a marker at fault [s], is written
    """
    segments.calm[b] += dt
    enough = min(segments.barred[b], CALM) - 0.5 * dt  # to the nearest frame
    return not in_doubt(b, options, segments) or segments.calm[b] >= enough


@njit
def find_leaps(markers, b, dt, comparable, options, health, segments):
    """Mark markers of body b as at fault whose residuals jump or, if the body is in doubt (see in_doubt),
    have not returned to their usual size yet; they keep their weight.

    Return how many of them are at their predicted positions. For these the solved pose has jumped, as when
    markers become visible again, so that they do not show whether the doubt is over.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    b : int - body
    dt : float - time since the last frame [s]
    comparable : bool - whether the pose can be compared with the last one
    options : HealthOptions - settings of the checks of single markers
    health : Health - its residual holds the residuals of the solution. Written are fault (kind of fault),
        good (residual in the last frame without a fault) and good_age (time since that frame [s])
    segments : Segments - state of each segment, kept from frame to frame; its field doubted, the time for
        which markers of it have been at fault [s], is read
    """
    doubted, n_pose = in_doubt(b, options, segments), 0
    for m in range(markers.body.shape[0]):
        if markers.body[m] != b:
            continue
        health.good_age[m] += dt
        if not is_blamed(m, health):
            lingers = doubted and health.weight[m] > 0.0 and is_unsettled(m, options, health)
            if lingers or (comparable and has_leapt(m, options, health)):
                predicted = not lingers and is_where_predicted(m, options, health)
                health.fault[m] = SEGMENT if predicted else OUTLIER
                if predicted:  # the next frame is held to this pose
                    n_pose += 1
                    health.good_age[m] = 0.0
                    copy(health.residual[m], health.good[m])
    return n_pose


@njit
def is_unsettled(m, options, health):
    """Return whether the residual of marker m, on a segment in doubt, has not yet returned to its usual
    size.

    A residual that deviates from its usual value by at most half of the allowed deviation counts as usual; so
    does a larger one that is within three standard deviations of its slow mean. A marker that has not been
    learnt yet is compared with its mean residual.

    m : int - marker
    options : HealthOptions - settings of the checks of single markers
    health : Health - its residual holds the residuals of the solution
    """
    if unusual(m, options, health) <= SETTLED:
        return False
    r = health.residual[m]
    if is_known(m, options, health):
        return distance_between(r, health.mean_residual[m]) ** 2 > OFTEN * health.spread[m]
    near = SETTLED * options.slack[m] * options.floor
    return health.n_seen[m] == 0 or distance_between(r, health.mean[m]) > near


@njit
def is_bumped(markers, b, options, health):
    """Return whether the mean, over the markers of body b, of their residuals less the usual ones is too
    large, as after a bump that displaced its marker cluster.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    b : int - body
    options : HealthOptions - settings of the checks of single markers
    health : Health - its residual holds the residuals of the solution
    """
    n, x, y, z, bound = 0, 0.0, 0.0, 0.0, 0.0
    for m in range(markers.body.shape[0]):
        if markers.body[m] == b and health.weight[m] == 1.0 and not is_blamed(m, health):
            n += 1
            bound += options.slack[m] * (BUMPED if is_known(m, options, health) else options.unknown)
            x += health.residual[m, 0] - health.mean[m, 0]
            y += health.residual[m, 1] - health.mean[m, 1]
            z += health.residual[m, 2] - health.mean[m, 2]
    return n > 0 and math.sqrt(x * x + y * y + z * z) > bound
