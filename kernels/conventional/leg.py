"""Joint centres and angles of legs by the conventional gait model, in one frame.

Pelvis, chord, segments and Y-X-Z Cardan angles are those of Plug-in Gait (Kadaba et al. 1990, J Orthop Res 8,
383-392; Davis et al. 1991, Hum Mov Sci 10, 575-587). The same equations for all frames of a recording at
once, with their reasons, are in rtsim/subjects/conventional.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kernels.algebra.spatial import dot, vector_product
from kernels.compiler.jit import entry, njit
from kernels.conventional.vectors import cardan, framed, normed, plus, point, square_to, turned

ROLES = (
    "asis_right", "asis_left", "psis_right", "psis_left", "thigh", "knee", "shank", "ankle", "toe", "heel",
)  # fmt: skip
"""Markers of a leg; a sacrum marker may stand for both PSIS,
and the heel is needed for standing feet only."""
WALKING, AS_MARKED, FLAT = 0, 1, 2
"""Ways to find the axes of the foot: WALKING, by the offsets of a static trial; AS_MARKED, from heel to
toe; FLAT, from heel to toe with a level sole."""
ANGLES = (
    "pelvis_tilt", "pelvis_obliquity", "pelvis_rotation", "hip_flexion", "hip_adduction",
    "hip_internal_rotation", "knee_flexion", "knee_adduction", "knee_internal_rotation", "ankle_dorsiflexion",
    "ankle_eversion", "ankle_internal_rotation", "foot_pitch", "foot_inversion", "foot_internal_rotation",
)  # fmt: skip
"""Angles in the order of Plug-in Gait: pelvis, hip, knee, ankle, foot progression, three each."""
CENTRES = ("hip", "knee", "ankle")
SQUARE = 0.5 * math.pi
ROUNDING = 1e-9


class Legs(NamedTuple):
    """Markers and measures of the n legs of a person, by which joint centres and axes of segments are
    computed.
    """

    role: np.ndarray  # (n, 10) int64 - marker of each of ROLES
    outwards: np.ndarray  # (n,) - sign along y, to the left, that is outwards: 1 for a left leg, -1
    hip: np.ndarray  # (n, 3) - from the middle of the ASIS: forwards, to the left, up [m]
    radius: np.ndarray  # (n, 2) - of knee and ankle centre from their lateral markers [m]
    rotation: np.ndarray  # (n, 2) - from wand to lateral marker, about the bone upwards [rad]
    torsion: np.ndarray  # (n,) - of the tibia, about its upward axis [rad]
    plant_flexion: np.ndarray  # (n,) [rad]; NaN = not known
    foot_rotation: np.ndarray  # (n,) [rad]
    sole_delta: np.ndarray  # (n,) - how much thicker the sole is under the heel [m]
    foot: np.ndarray  # (n,) int64 - WALKING, AS_MARKED or FLAT


@njit
def chord(proximal, lateral, wand, radius, rotation):
    """Return the joint centre beside a lateral marker by the chord construction, three floats [m];
    NaN if there is none.

    proximal : (3,) - the proximal joint centre [m]
    lateral : (3,) - marker on the joint's lateral side [m]
    wand : (3,) - marker on the lateral side of the segment [m]
    radius : float - distance of the centre from the lateral marker [m]
    rotation : float - angle about the bone from the half-plane with the wand to that with the lateral marker
    [rad] See rtsim/subjects/conventional/chord.py for the equation of the rotation.
    """
    line = plus(proximal, -1.0, lateral)
    square, long = radius * radius, dot(line, line)
    length = math.sqrt(long)
    along = (line[0] / length, line[1] / length, line[2] / length)
    arm = plus(wand, -1.0, lateral)
    outwards = square_to(arm, along)
    reach = radius * math.sqrt(1.0 - square / long) if long >= square else math.nan
    middle = plus(lateral, square / length, along)
    if rotation == 0.0:
        return plus(middle, -reach, outwards)
    bone, share, product = long - square, math.cos(rotation) ** 2, dot(arm, line)
    a = share / bone + 1.0 / square
    b = share * (1.0 - product / bone) - 1.0
    c = square - share * (dot(arm, arm) + square - product * product / bone)
    under = b * b - a * c
    m = (-b - math.sqrt(under)) / a if under >= 0.0 else math.nan
    inwards = (square * product / long - m) / (reach * dot(arm, outwards))
    left = 1.0 - inwards * inwards
    aside = math.copysign(math.sqrt(max(left, 0.0)), rotation) if left > -ROUNDING else math.nan
    return plus(plus(middle, -reach * inwards, outwards), -reach * aside, vector_product(along, outwards))


@njit
def write(angles_out, leg, start, three):
    """Write three joint angles of a leg [rad] into its row of angles_out : (n, 15), from column start on."""
    for i in range(3):
        angles_out[leg, start + i] = three[i]


@njit
def foot_of(legs, k, markers, ankle, shank, up):
    """Return the axes x, y, z of a foot: z points from the toe backwards, x upwards when the foot is level.

    legs : Legs - markers and measures of the legs of a person
    k : int - index of the leg
    markers : (n_marker, 3) [m]
    ankle : (3,) - ankle centre [m]
    shank : (3, 3) - axes of the shank, with y along the ankle axis
    up : (3,) - unit vector upwards
    """
    toe = point(markers, legs.role[k, 8])
    if legs.foot[k] == WALKING:
        x, y, z = framed(plus(ankle, -1.0, toe), shank[1])
        z, x = turned(z, x, -legs.plant_flexion[k])
        y, z = turned(y, z, -legs.foot_rotation[k])
        return x, y, z
    heel = point(markers, legs.role[k, 9])
    if legs.foot[k] == FLAT:
        heel = plus(heel, dot(plus(toe, -1.0, heel), up) + legs.sole_delta[k], up)
    elif legs.foot[k] != AS_MARKED:
        heel = math.nan, math.nan, math.nan
    return framed(plus(heel, -1.0, toe), shank[1])


@njit
def pelvis_of(legs, k, markers):
    """Return the axes x, y, z of the pelvis, and the midpoint of the anterior superior iliac spines (ASIS)
    [m].

    legs : Legs - markers and measures of the legs of a person
    k : int - index of the leg whose pelvis markers are used
    markers : (n_marker, 3) [m]
    """
    right, left = point(markers, legs.role[k, 0]), point(markers, legs.role[k, 1])
    back = plus(point(markers, legs.role[k, 2]), 1.0, point(markers, legs.role[k, 3]))
    front = plus(right, 1.0, left)
    y = normed(plus(left, -1.0, right))
    x = square_to(plus(front, -1.0, back), y)
    return (x, y, vector_product(x, y)), (0.5 * front[0], 0.5 * front[1], 0.5 * front[2])


@entry
def conventional_legs(legs, markers, walking, angles_out, centres_out):
    """Write the angles and joint centres of all legs; NaN where a marker that they need is occluded.

    legs : Legs - markers and measures of the legs of a person
    markers : (n_marker, 3) - in right-handed axes [m]; NaN = occluded
    walking : (3, 3) - direction of progression, to the left, up, as columns; NaN = not known
    angles_out : (n, 15) - angles of pelvis, hip, knee, ankle and foot of each leg, in the order of ANGLES
        [rad], written
    centres_out : (n, 3, 3) - centres of hip, knee and ankle of each leg [m], written
    """
    lab = (
        (walking[0, 0], walking[1, 0], walking[2, 0]),
        (walking[0, 1], walking[1, 1], walking[2, 1]),
        (walking[0, 2], walking[1, 2], walking[2, 2]),
    )
    for k in range(legs.outwards.shape[0]):
        s = legs.outwards[k]
        pelvis, middle = pelvis_of(legs, k, markers)
        hip = middle
        for i in range(3):
            hip = plus(hip, legs.hip[k, i], pelvis[i])
        lateral = point(markers, legs.role[k, 5])
        knee = chord(hip, lateral, point(markers, legs.role[k, 4]), legs.radius[k, 0], legs.rotation[k, 0])
        malleolus, wand = point(markers, legs.role[k, 7]), point(markers, legs.role[k, 6])
        ankle = chord(knee, malleolus, wand, legs.radius[k, 1], legs.rotation[k, 1])
        outer, lower = plus(lateral, -1.0, knee), plus(malleolus, -1.0, ankle)
        thigh = framed(plus(hip, -1.0, knee), (s * outer[0], s * outer[1], s * outer[2]))
        distal = framed(plus(knee, -1.0, ankle), (s * lower[0], s * lower[1], s * lower[2]))
        x, y = turned(distal[0], distal[1], legs.torsion[k])
        foot = foot_of(legs, k, markers, ankle, distal, lab[2])
        a, b, c = cardan(lab, pelvis)
        write(angles_out, k, 0, (a, s * b, -s * c))
        a, b, c = cardan(pelvis, thigh)
        write(angles_out, k, 3, (-a, -s * b, -s * c))
        a, b, c = cardan(thigh, (x, y, distal[2]))
        write(angles_out, k, 6, (a, -s * b, -s * c))
        a, b, c = cardan(distal, foot)
        write(angles_out, k, 9, (-a - SQUARE, -s * c, -s * b))
        a, b, c = cardan(lab, foot)
        write(angles_out, k, 12, (a, s * c, -s * b))
        for i in range(3):
            centres_out[k, 0, i], centres_out[k, 1, i], centres_out[k, 2, i] = hip[i], knee[i], ankle[i]
