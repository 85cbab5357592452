"""Tables of triangle surfaces and of the contacts between them, and what is stored of a contact from pose to
pose.

The surfaces of a model are in one group of arrays, one after the other; `table` states where each begins.
Vertices and triangles are sorted by two binary trees over space, boxes around triangles and balls around
vertices: node i has the children 2 i + 1 and 2 i + 2, and of n items, leaf k of a tree of depth D has the
items (k n) >> D to ((k + 1) n) >> D, without the last. Vertices and triangles are numbered by their index in
these arrays; rtsim/models/packing/meshes.py makes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate

VERTEX, N_VERTEX, TRIANGLE, N_TRIANGLE, BOX, BOX_DEPTH, BALL, BALL_DEPTH, LEAF, CLOSED = range(10)
"""Columns of Meshes.table: first vertex and number of vertices, first triangle and number of triangles, root
and depth of the tree of boxes around triangles, root and depth of the tree of balls around vertices, first
leaf of the boxes, and 1 where the surface has no boundary."""
N_TABLE = 10

ORIGIN, NORMAL, SIDE_AB, SIDE_AC, DOTS, AREA = 0, 3, 6, 9, 12, 15
"""Columns of Meshes.triangle: corner a, unit normal, b - a, c - a (3 each), the products ab.ab, ab.ac, ac.ac,
and the area."""
N_TRIANGLE_ROW = 16

UPRIGHT, MIDDLE, REACH = 0, 3, 6
"""Columns of Meshes.disc: unit normal and centre (3 each), and radius, of a disc around a triangle."""
N_DISC = 7
FAR = 1e6
"""Coordinates of the centre of a disc that stands for no triangle [m]."""

OF_A, OF_B, OF_BOTH = 0, 1, 2
"""Vertices that a contact looks at: those of A in B's surface, those of B in A's, or the mean of both."""
OWN_AREA, PAPER_AREA = 0, 1
"""Area of a vertex: a third of the area of its own triangles, or the whole area of the closest triangle of
the other surface (Andersen et al. 2017, nomenclature)."""
GRADIENT, OWN_NORMAL = 0, 1
"""Direction in which a vertex is pressed: along the gradient of its depth, or against its own normal."""

PLACE, AWAY, DEEP, SHARE, BEND, ALONG, PUSH = 0, 3, 6, 7, 8, 9, 12
"""Columns of MeshWork.touch, in the axes of the surface that is pressed: the vertex and the unit normal away
from that surface (3 each), depth [m], area [m^2], curvature of the distance [1/m], and the edge (3) along
which it is not curved, zero at a corner; the unit direction of the force (3)."""
N_TOUCH = 15

CONTACT_AREA, VOLUME, LARGEST_DEPTH, PRESSED_AT, N_TOUCHING = 0, 1, 2, 3, 6
"""Columns of MeshWork.patch: area [m^2], sum of area times depth [m^3], largest depth [m], centre of pressure
(3) on body A [m], number of vertices in contact."""
N_MESH_PATCH = 7


class Meshes(NamedTuple):
    """Triangle surfaces of a model; the corners of every triangle are in counter-clockwise order as seen from
    outside.
    """

    table: np.ndarray  # (n_mesh, N_TABLE) int64
    vertex: np.ndarray  # (n_vertex, 3) [m]
    share: np.ndarray  # (n_vertex,) - a third of the area of the vertex's triangles [m^2]
    vertex_normal: np.ndarray  # (n_vertex, 3) - unit; mean of triangle normals weighted by angle
    vertex_rim: np.ndarray  # (n_vertex,) int64 - 1 = on the boundary of an open surface
    corner: np.ndarray  # (n_triangle, 3) int64 - the vertices at its corners a, b, c
    triangle: np.ndarray  # (n_triangle, N_TRIANGLE_ROW) - columns ORIGIN to AREA
    # discs around the triangles of each leaf of the boxes [m]; unused columns have their centre at FAR
    disc: np.ndarray  # (n_leaf, N_DISC, TRIANGLES_IN_LEAF)
    edge_normal: np.ndarray  # (n_triangle, 3, 3) - sum of the normals at the edges ab, bc, ca
    edge_rim: np.ndarray  # (n_triangle, 3) int64 - 1 = on the boundary of an open surface
    box: np.ndarray  # (n_box, 6) float32, rounded outwards - lowest and highest x, y, z of a node [m]
    ball: np.ndarray  # (n_ball, 4) - centre and radius around the vertices of a node [m]


class MeshContacts(NamedTuple):
    """Pairs of surfaces that may touch, settings of each contact, and where its stored data begin in
    MeshWork.
    """

    mesh_a: np.ndarray  # (n_contact,) int64 - index of surface A in Meshes
    mesh_b: np.ndarray  # (n_contact,) int64 - index of surface B
    passes: np.ndarray  # (n_contact,) int64 - vertices that are pressed: OF_A, OF_B or OF_BOTH
    area: np.ndarray  # (n_contact, 2) int64 - OWN_AREA or PAPER_AREA, for A's and for B's vertices
    direction: np.ndarray  # (n_contact, 2) int64 - GRADIENT or OWN_NORMAL, for A's and for B's vertices
    offset: np.ndarray  # (n_contact,) - distance between the surfaces at which contact begins [m]
    depth_max: np.ndarray  # (n_contact,) - deeper vertices do not count as inside [m]; infinite = no limit
    # rows of MeshWork with the data of A's and of B's vertices: first row of A, first of B, end of B
    vertex: np.ndarray  # (n_contact, 3) int64
    ball: np.ndarray  # (n_contact, 3) int64 - likewise for the data of their balls


class MeshWork(NamedTuple):
    """Results of the contacts between meshes, data stored from pose to pose, and working space."""

    wrench: Annotated[np.ndarray, Floats("n_contact", 6)]  # on A about its origin, in its axes [N m, N]
    by_a: Annotated[np.ndarray, Floats("n_contact", 6)]  # part of it by forces on A's vertices
    patch: Annotated[np.ndarray, Floats("n_contact", N_MESH_PATCH)]
    # derivative of the wrench with respect to a small twist of B, with A held fixed
    stiffness: Annotated[np.ndarray, Floats("n_contact", 6, 6)]
    n_touch: Annotated[np.ndarray, Integers("n_contact", 2)]  # A's and B's vertices in contact
    touch: Annotated[np.ndarray, Floats("n_kept", N_TOUCH)]  # columns PLACE to PUSH of these
    touching: Annotated[np.ndarray, Integers("n_kept")]  # their indices in Meshes.vertex
    # position of a vertex when it was examined last, in the axes of the other surface [m]
    at: Annotated[np.ndarray, Floats("n_kept", 3)]
    clear: Annotated[np.ndarray, Floats("n_kept")]  # distance it had then to move to touch [m]
    guess: Annotated[np.ndarray, Integers("n_kept", fill=-1)]  # triangle closest to it then, -1 = none
    # motion up to which no vertex of a ball touches [m]
    ball_safe_motion: Annotated[np.ndarray, Floats("n_kept_ball")]
    ball_open: Annotated[np.ndarray, Integers("n_kept_ball")]  # 1 = its vertices are examined one by one
    # upper bound of the distance moved by any of A's, or of B's, vertices [m]; negative = nothing is stored
    motion: Annotated[np.ndarray, Floats("n_contact", 2, fill=-1.0)]
    # last pose of A in B's axes, and of B in A's axes: rotation, then position [m]
    pose: Annotated[np.ndarray, Floats("n_contact", 2, 4, 3)]
    # rotation and position [m] of B's surface in A's axes, for callers that store them here
    R: Annotated[np.ndarray, Floats("n_contact", 3, 3)]
    p: Annotated[np.ndarray, Floats("n_contact", 3)]
    node: Annotated[np.ndarray, Integers(N_STACK)]  # nodes still to be visited in a search through boxes
    gap: Annotated[np.ndarray, Floats(N_STACK)]  # squared distances of these nodes [m^2]
    asked: Annotated[np.ndarray, Integers(VERTICES_IN_LEAF)]  # vertices of a leaf to be examined
    bound: Annotated[np.ndarray, Floats(VERTICES_IN_LEAF)]  # squared distances to their last triangles [m^2]
    room: Annotated[np.ndarray, Floats(6)]  # lowest and highest x, y, z of these vertices [m]
    # leaves of boxes that may contain the triangle closest to one of these vertices
    near: Annotated[np.ndarray, Integers(N_NEAR)]
    near_disc: Annotated[np.ndarray, Floats(N_DISC, N_NEAR_TRIANGLE)]  # discs of the triangles in near
    near_gap: Annotated[np.ndarray, Floats(N_NEAR_TRIANGLE)]  # their squared distances from a vertex [m^2]
    turn: Annotated[np.ndarray, Floats(3, 3)]  # rotation of A's surface in the axes of B's
    shift: Annotated[np.ndarray, Floats(3)]  # position of A's surface in the axes of B's [m]
    sums: Annotated[np.ndarray, Floats(9)]  # wrench [N m, N] and first moment of volume [m^4]
    change: Annotated[np.ndarray, Floats(2, 6, 6)]


N_STACK = 64
N_NEAR = 128
TRIANGLES_IN_LEAF, VERTICES_IN_LEAF = 4, 16
"""Largest number of items in a leaf of either tree."""
N_NEAR_TRIANGLE = N_NEAR * TRIANGLES_IN_LEAF + 8  # rows no power of two apart, which a cache would mix up


def new_mesh_contacts(
    meshes: Meshes,
    pairs: Sequence[tuple[int, int]],
    passes: Sequence[int],
    area: Sequence[tuple[int, int]],
    direction: Sequence[tuple[int, int]],
    offset: Sequence[float],
    depth_max: Sequence[float],
) -> MeshContacts:
    """Return the MeshContacts of pairs of surfaces; each argument but meshes has one entry per contact.

    pairs : numbers of the surfaces A and B; passes : OF_A, OF_B or OF_BOTH, the vertices that are pressed
    area, direction : OWN_AREA or PAPER_AREA, GRADIENT or OWN_NORMAL: first for A's vertices, then for B's
    offset : distance between the surfaces at which contact begins [m]; depth_max : largest depth [m] at which
        a vertex counts as inside
    """
    n_vertex, n_ball = meshes.table[:, N_VERTEX], (2 << meshes.table[:, BALL_DEPTH]) - 1
    vertex, ball = np.zeros((len(pairs), 3), np.int64), np.zeros((len(pairs), 3), np.int64)
    for table, sizes in ((vertex, n_vertex), (ball, n_ball)):
        end = 0
        for e, (a, b) in enumerate(pairs):
            size_a = 0 if passes[e] == OF_B else sizes[a]
            size_b = 0 if passes[e] == OF_A else sizes[b]
            table[e] = end, end + size_a, end + size_a + size_b
            end = table[e, 2]
    return MeshContacts(
        mesh_a=np.array([a for a, _ in pairs], np.int64),
        mesh_b=np.array([b for _, b in pairs], np.int64),
        passes=np.array(passes, np.int64),
        area=np.array(area, np.int64).reshape(-1, 2),
        direction=np.array(direction, np.int64).reshape(-1, 2),
        offset=np.array(offset, float),
        depth_max=np.array(depth_max, float),
        vertex=vertex,
        ball=ball,
    )


def new_mesh_work(contacts: MeshContacts) -> MeshWork:
    """Allocate a MeshWork, in which nothing is stored yet."""
    n = len(contacts.mesh_a)
    n_kept, n_ball = (int(kept[-1, 2]) if n else 0 for kept in (contacts.vertex, contacts.ball))
    return allocate(MeshWork, n_contact=n, n_kept=n_kept, n_kept_ball=n_ball)
