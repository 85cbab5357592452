"""Faults that show at the solution: residuals that are unusual or leap, segments that are off as a whole."""

from __future__ import annotations

import math

from kernels.algebra.copying import copy
from kernels.compiler.jit import njit
from kernels.faults.innovation import has_leapt, is_where_predicted
from kernels.faults.verdict import in_doubt, suspect
from kernels.markers.marker_health import OUTLIER, SEGMENT, distance_between, is_blamed, is_known, unusual

BUMPED = 0.03
"""Mean distance of a segment's markers from their usual residuals that is no fault [m]."""
SETTLED = 0.5
"""Part of the bound within which a residual ends a doubt ..."""
OFTEN = 9.0
"""... and its square over its mean square up to which it does so anywhere within the bound: three deviations
from home are usual (kernels/uncertainty/variance_inflation)."""
CALM = 0.05
"""Where markers were left out as astray a doubt ends when nothing has been at fault for as long as they were,
at most for so long [s]: half of the time in which a status should recover (docs/damage.md)."""


@njit
def weigh_worst(markers, options, health, segments):
    """Leave out the marker whose residual is the most unusual at the solution; False if none is.

    Only the worst: a wrong marker pulls its neighbours' residuals along.

    markers : Markers
    options : HealthOptions
    health : Health - residual of the solution; fault, weight written
    segments : Segments
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
    """Faults at the solution, how long segments have been in doubt; returns how many markers are at fault.

    markers : Markers
    dt : float - time since the last frame [s]
    options : HealthOptions
    health : Health - residual of the solution; fault, good_age written
    segments : Segments - doubted, barred, calm written
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
    """Whether body b, of which no marker is at fault in this frame, is out of its doubt, if it was in one.

    One frame proves nothing of a marker that was left out: three agree wherever one of them moves across
    their plane, noise is small now and then, and the pose that it spoils is not held to the one before it.

    b : int - body
    dt : float - time since the last frame [s]
    options : HealthOptions
    segments : Segments - calm written
    """
    segments.calm[b] += dt
    enough = min(segments.barred[b], CALM) - 0.5 * dt  # to the nearest frame
    return not in_doubt(b, options, segments) or segments.calm[b] >= enough


@njit
def find_leaps(markers, b, dt, comparable, options, health, segments):
    """Markers of body b whose residuals leap, or are not yet as usual after a doubt; they keep their weight.

    Where markers came back the pose leaps to a better one. Returns how many are where they were foreseen, so
    that the pose has leapt: nothing that the markers could prove to be over.

    markers : Markers
    b : int - body
    dt : float - time since the last frame [s]
    comparable : bool - whether the pose can be held to the last one
    options : HealthOptions
    health : Health - residual of the solution; fault, good_age written
    segments : Segments - doubted
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
    """Whether the residual of marker m, of a segment in doubt, is not yet as usual.

    Where it was often farther from home than half of its bound, that is nothing it could be back within. A
    marker that is not known yet may be back where it was in the frames before the doubt.

    m : int - marker
    options : HealthOptions
    health : Health - residual of the solution
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
    """Whether the markers of body b are off together, on the mean.

    markers : Markers
    b : int - body
    options : HealthOptions
    health : Health - residual of the solution
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
