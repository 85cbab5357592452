"""Distances that stay constant during movement, in a model that brings its own markers.

The distances are those between the markers of one body, and those from these markers to the joint centres
that the body shares with its neighbours. A joint has such a centre if it only rotates about it. OpenSim's
knees also translate as functions of the angle, so several poses are tried to find out whether the centre of a
joint stays in place. For a walking model only the distances on legs and pelvis are used: on the bodies of the
feet and all bodies between them and ground. `rtsim/subjects/markers/distances` does the same for persons.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.joints.tree import new_pose, pose
from rtsim.errors import ConfigError
from rtsim.models.feet import bodies_of_feet, carried_by, points_of, spots_of
from rtsim.models.model import Model
from rtsim.models.neutral import function_at
from rtsim.models.packing.couplers import drivers_first
from rtsim.models.packing.functions import value
from rtsim.models.packing.joints import rotations
from rtsim.subjects.markers.distances import Ruler, SharedPoint

Array = NDArray[np.float64]

N_POSE, BENT = 6, 0.3
"""Poses that are tried, their coordinates within BENT of the neutral ones [rad, m]."""
STAYS = 0.01
"""A joint's point that moves less on the body beneath is shared [m]: markers on skin tell no more."""


def ruler_of_model(model: Model) -> Ruler:
    """Return the distances between the model's own markers that stay constant during movement."""
    names = model.names.bodies
    local: dict[str, dict[str, Array]] = {name: {} for name in names}
    for marker, body, place in zip(
        model.names.markers, model.markers.body, model.markers.position, strict=True
    ):
        local[names[body]][marker] = place.copy()
    tree, places, loose = model.tree, points_of_joints(model), loose_bodies(model)
    moved = np.linalg.norm(places - places[0], axis=2).max(axis=0)
    joints = [
        SharedPoint(names[parent], names[body], places[0, body], tree.position_in_child[body].copy())
        for body, parent in enumerate(tree.parent)
        if parent >= 0 and moved[body] < STAYS and body not in loose
    ]
    return Ruler(local, joints, frozenset(names[body] for body in loose))


def loose_bodies(model: Model) -> set[int]:
    """Return the bodies that belong neither to legs nor to the pelvis, whose distances are not used; none if
    no foot is found, or if legs have no markers. Which foot is the right one does not matter."""
    points = points_of(model)
    try:
        feet = bodies_of_feet(model, (), points, spots_of(model, points))
    except ConfigError:
        return set()
    legs = set[int]()
    for foot in feet:
        for body in carried_by(model, foot):
            while body >= 0 and body not in legs:
                legs.add(body)
                body = int(model.tree.parent[body])
    others = set(range(len(model.tree.parent))) - legs
    return others if legs & set(model.markers.body.tolist()) else set()


def points_of_joints(model: Model) -> Array:
    """Return the origin of each body's joint frame in the axes of the parent body, (N_POSE, n_body, 3) [m],
    in several poses, the neutral pose first.
    """
    tree = model.tree
    n_body = len(tree.parent)
    at = new_pose(n_body, model.n_v, len(tree.chains.dof))
    bent = np.random.default_rng(0).uniform(-BENT, BENT, (N_POSE, len(model.q_neutral)))
    bent[0] = 0.0
    places = np.full((N_POSE, n_body, 3), np.nan)
    for k in range(N_POSE):
        pose(tree, coordinates_beside(model, bent[k]), at)
        for body, parent in enumerate(tree.parent):
            if parent >= 0:
                centre = at.position[body] + at.rotation[body] @ tree.position_in_child[body]
                places[k, body] = at.rotation[parent].T @ (centre - at.position[parent])
    return places


def coordinates_beside(model: Model, bent: Array) -> Array:
    """Return the coordinates (n_q,) of a pose beside the neutral one. Those that depend on others follow
    them, and prescribed ones stay.

    bent : (n_q,) changes of the coordinates [rad, m]; of the four of a quaternion, the last three are a small
        rotation about x, y and z [rad]
    """
    tree, couplers = model.tree, drivers_first(model.couplers)
    q = model.q_neutral + bent
    for _, first, _ in rotations(tree):  # a quaternion is of unit size, and identity in the neutral pose
        q[first : first + 4] = (1.0, *(0.5 * bent[first + 1 : first + 4]))
        q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
    for own, driver, f in zip(couplers.coordinate, couplers.driver, couplers.function, strict=True):
        follows = own != driver
        q[own] = value(function_at(tree.functions, int(f)), q[driver]) if follows else model.q_neutral[own]
    return q
