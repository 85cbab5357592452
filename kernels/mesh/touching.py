"""Search for the vertices of one surface that are inside another, with their depths and directions.

A vertex at the distance s from a surface cannot touch it before it has moved by s. So every vertex stores its
position at its last examination and its distance from touching there, and every ball around neighbouring
vertices stores the motion up to which none of them touches. By this exact rule few vertices are examined
where surfaces move little. A ball is examined as a whole until a vertex in it may touch; from then on its
vertices are examined one by one. No search is needed where the box around the other surface, or a triangle
found before, shows that nothing touches; otherwise that triangle bounds the search.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import inlined, njit
from kernels.mesh.meshes import (
    ALONG,
    AREA,
    AWAY,
    BALL,
    BALL_DEPTH,
    BEND,
    BOX,
    BOX_DEPTH,
    CLOSED,
    DEEP,
    N_TRIANGLE,
    N_VERTEX,
    OWN_NORMAL,
    PAPER_AREA,
    PLACE,
    PUSH,
    SHARE,
    SIDE_AB,
    SIDE_AC,
    TRIANGLE,
    VERTEX,
)
from kernels.mesh.nearest import (
    CORNER,
    EDGE,
    FACE,
    box_gap,
    gap_to,
    nearest,
    on_triangle,
    search,
    side_normal,
    way_from,
)
from kernels.mesh.together import add_to_room, closest_of, gather, screen

TINY = 1e-10
"""Distance below which the difference of two points does not give the direction to the closest point [m]."""


@inlined
def moved_by(last, R, p, ball):
    """Return an upper bound of the way that a point in a ball has moved between two poses of its surface [m].

    It is |dR c + dp| + |dR| r, with the changes dR and dp of rotation and position, and for |dR| the
    Frobenius norm over sqrt(2).

    last : (4, 3) - rotation, then position, of the last pose [m]
    R : (3, 3), p : (3,) - rotation and position of the pose now [m]
    ball : (4,) - centre c and radius r of the ball [m]
    """
    way, turn = 0.0, 0.0
    for i in range(3):
        step = p[i] - last[3, i]
        for j in range(3):
            change = R[i, j] - last[i, j]
            turn += change * change
            step += change * ball[j]
        way += step * step
    return math.sqrt(way) + math.sqrt(0.5 * turn) * ball[3]


@inlined
def remember(R, p, last):
    """Store the pose R : (3, 3), p : (3,) in last : (4, 3), for the comparison with the next pose."""
    for i in range(3):
        for j in range(3):
            last[i, j] = R[i, j]
        last[3, i] = p[i]


@inlined
def seen(R, p, x):
    """Return the point R x + p: a point x : (3,) of one surface in the axes of the other one [m], as three
    numbers.
    """
    return (
        R[0, 0] * x[0] + R[0, 1] * x[1] + R[0, 2] * x[2] + p[0],
        R[1, 0] * x[0] + R[1, 1] * x[1] + R[1, 2] * x[2] + p[1],
        R[2, 0] * x[0] + R[2, 1] * x[1] + R[2, 2] * x[2] + p[2],
    )


@njit
def find_touching(meshes, contacts, e, k, source, target, R, p, work):
    """Find the vertices of the surface `source` that are inside the surface `target`; write them into touch,
    touching and n_touch of work.

    meshes : Meshes - the surfaces of all meshes
    contacts : MeshContacts - pairs of surfaces, and how they press on each other
    e, k : int - index e of the contact; k = 0: vertices of A in surface B, k = 1: of B in A
    source, target : int - numbers of the surfaces
    R : (3, 3), p : (3,) - rotation and position of source in the axes of target [m]
    work : MeshWork - results and working space of the mesh contacts, written
    """
    kept, balls, last = contacts.vertex[e, k], contacts.ball[e, k], work.pose[e, k]
    row = meshes.table[source]
    root, inner = row[BALL], (1 << row[BALL_DEPTH]) - 1
    fresh = work.motion[e, k] < 0.0
    motion = 0.0 if fresh else work.motion[e, k] + moved_by(last, R, p, meshes.ball[root])
    work.motion[e, k], work.n_touch[e, k] = motion, 0
    remember(R, p, last)
    if fresh:
        forget(contacts, e, k, work)
    i, guess, around = 0, meshes.table[target, TRIANGLE], surroundings(meshes, contacts, e, target)
    while i >= 0:
        safe_motion = work.ball_safe_motion[balls + i]
        if safe_motion <= motion and work.ball_open[balls + i] == 0:
            x, y, z = seen(R, p, meshes.ball[root + i])
            reach, radius = (contacts.offset[e], rim_reach(contacts, e)), meshes.ball[root + i, 3]
            clear = aside(around, x, y, z)
            if clear <= radius:
                clear = math.sqrt(gap_to(meshes.triangle[guess], x, y, z)) - reach[0]
                if clear > radius:
                    clear, guess = clearance(meshes, target, x, y, z, reach, guess, work)
            safe_motion = motion + clear - radius
        is_open = safe_motion <= motion
        if is_open and i >= inner:
            leaf, n, depth = i - inner, row[N_VERTEX], row[BALL_DEPTH]
            start, end = row[VERTEX] + ((leaf * n) >> depth), row[VERTEX] + (((leaf + 1) * n) >> depth)
            leaf_of = start, end, kept - row[VERTEX]
            asked = ask(meshes, R, p, leaf_of, around, guess, work)
            clear, guess = touch_asked(meshes, contacts, e, k, target, asked, work)
            safe_motion = motion + clear
        work.ball_safe_motion[balls + i] = safe_motion
        if is_open:
            work.ball_open[balls + i] = 1
        i = 2 * i + 1 if is_open and i < inner else after(i, balls, work.ball_safe_motion)


@inlined
def after(i, balls, safe_motion):
    """Return the node of a tree of balls (bounding spheres) to visit after node i if its children are left
    out; -1 after the last one.

    The order is parents before children. When all nodes below a parent have been visited, its value in
    safe_motion becomes the smaller one of its two children's.

    i : int - index of the node
    balls : int - position of the tree's root in safe_motion
    safe_motion : (n_kept_ball,) - MeshWork.ball_safe_motion, the motion up to which no vertex of a ball
        touches [m], written
    """
    while i > 0 and i % 2 == 0:
        safe_motion[balls + i // 2 - 1] = min(safe_motion[balls + i - 1], safe_motion[balls + i])
        i = i // 2 - 1
    return i + 1 if i > 0 else -1


@inlined
def forget(contacts, e, k, work):
    """Clear what work stores from earlier poses about the vertices of A (k = 0) or B (k = 1) in contact e."""
    for j in range(contacts.vertex[e, k], contacts.vertex[e, k + 1]):
        work.clear[j], work.guess[j] = 0.0, -1
    for j in range(contacts.ball[e, k], contacts.ball[e, k + 1]):
        work.ball_safe_motion[j], work.ball_open[j] = 0.0, 0


@inlined
def clearance(meshes, target, x, y, z, reach, guess, work):
    """Return (distance that a point may move before it touches a surface [m], closest triangle). The distance
    is negative for a point that is inside the surface, or nearer to it than `reach`.

    meshes : Meshes - the surfaces of all meshes
    target : int - index of the surface
    x, y, z : float - the point, in the axes of that surface [m]
    reach : (float, float) - distance at which a point touches: above the surface, and beyond its boundary [m]
    guess : int - index of a triangle that may be close, -1 = none
    work : MeshWork - results and working space; node and gap are written
    """
    square, u, v, t, what = nearest(meshes, target, x, y, z, guess, work.node, work.gap)
    dx, dy, dz = way_from(meshes.triangle[t], u, v, x, y, z)
    nx, ny, nz, rim = side_normal(meshes, t, what)
    distance = math.sqrt(square)
    if rim:
        return distance - reach[1], t
    return (distance if dx * nx + dy * ny + dz * nz >= 0.0 else -distance) - reach[0], t


@inlined
def surroundings(meshes, contacts, e, target):
    """Return (box : (6,) around a surface [m], distance outside the box within which a vertex may still touch
    [m]).

    Behind an open surface a vertex may be deep although it is outside the box; with an unlimited depth that
    distance is infinite.

    meshes : Meshes - the surfaces of all meshes
    contacts : MeshContacts - pairs of surfaces, and how they press on each other
    e : int - index of the contact
    target : int - index of the surface that is pressed
    """
    row = meshes.table[target]
    return meshes.box[row[BOX]], contacts.offset[e] if row[CLOSED] == 1 else rim_reach(contacts, e)


@inlined
def aside(around, x, y, z):
    """Return a lower bound of the distance of a point from touching a surface [m], from the box around it; 0
    or less = may touch.

    around : (box, margin) - box of the surface : (6,), and how far outside it a vertex may touch [m]
    x, y, z : float - the point, in the axes of the surface [m]
    """
    return math.sqrt(box_gap(around[0], x, y, z)) - around[1]


@inlined
def rim_reach(contacts, e):
    """Return how far from the boundary of an open surface a vertex may be and still come into contact by
    moving sideways [m].

    contacts : MeshContacts - offsets and largest depths; e : int - index of the contact.
    """
    return max(contacts.offset[e], contacts.depth_max[e] - contacts.offset[e])


@inlined
def ask(meshes, R, p, leaf, around, guess, work):
    """Select those vertices of a leaf that may have come into contact with the other surface, so that they
    must be examined; return (n, kept, clear, reach, guess).

    n is the number of selected vertices. clear [m] is a distance that each of the other vertices has to move,
    at least, before it comes into contact. reach [m^2] is the largest squared distance between a selected
    vertex and the triangle that was closest to it when it was examined last. kept and guess are returned as
    they were passed; the stored data of vertex i are at index kept + i of work.at, work.clear and work.guess.

    meshes : Meshes - the surfaces of all meshes
    R : (3, 3), p : (3,) - rotation and position of the vertices' surface in the axes of the other one [m]
    leaf : (first, end, kept) - the leaf's first vertex, the vertex after its last, and kept (see above)
    around : (box, margin) - box of the other surface, and how far outside it a vertex may touch [m]
    guess : int - triangle that is taken as the closest one for vertices that have not been examined yet
    work : MeshWork - asked, bound, at, guess and room are written
    """
    first, end, kept = leaf
    n, clear, reach = 0, math.inf, 0.0
    for i in range(first, end):
        x, y, z = seen(R, p, meshes.vertex[i])
        at = work.at[kept + i]
        left = work.clear[kept + i] - math.sqrt((x - at[0]) ** 2 + (y - at[1]) ** 2 + (z - at[2]) ** 2)
        if left > 0.0:
            clear = min(clear, left)
            continue
        at[0], at[1], at[2] = x, y, z
        work.clear[kept + i] = aside(around, x, y, z)
        if work.clear[kept + i] > 0.0:
            clear = min(clear, work.clear[kept + i])
            continue
        work.asked[n] = i
        if work.guess[kept + i] < 0:
            work.guess[kept + i] = guess
        work.bound[n] = gap_to(meshes.triangle[work.guess[kept + i]], x, y, z)
        add_to_room(x, y, z, n == 0, work.room)
        reach = max(reach, work.bound[n])
        n += 1
    return n, kept, clear, reach, guess


@inlined
def touch_asked(meshes, contacts, e, k, target, asked, work):
    """Examine the selected vertices of a leaf; return (distance that any vertex of the leaf has to move
    before it touches [m], triangle closest to the vertex that was examined last).

    meshes : Meshes - the surfaces of all meshes
    contacts : MeshContacts - pairs of surfaces, and how they press on each other
    e, k : int - index e of the contact; k = 0: vertices of A in surface B, k = 1: of B in A
    target : int - index of the surface that is pressed
    asked : (n, kept, clear, reach, guess) - result of `ask`: the n vertices to be examined, and bounds of
        distances
    work : MeshWork - results and working space of the mesh contacts, written
    """
    n, kept, clear, reach, guess = asked
    row = meshes.table[target]
    near = gather(meshes, row, reach, work) if n > 0 else 0
    leaves = work.near, near, row[TRIANGLE], row[N_TRIANGLE], row[BOX_DEPTH]
    for a in range(n):
        i = work.asked[a]
        at, own = work.at[kept + i], work.guess[kept + i]
        x, y, z = at[0], at[1], at[2]
        if near >= 0:
            screen(work.near_disc, near, x, y, z, work.near_gap)
            guess = closest_of(meshes.triangle, leaves, work.near_gap, x, y, z, (work.bound[a], own))
        else:
            guess = search(meshes, target, x, y, z, own, work.node, work.gap)[1]
        work.guess[kept + i] = guess
        work.clear[kept + i] = touch_vertex(meshes, contacts, e, k, i, (x, y, z), guess, work)
        clear = min(clear, work.clear[kept + i])
    return clear, guess


@inlined
def touch_vertex(meshes, contacts, e, k, i, at, t, work):
    """Examine vertex i: return how far it is from touching [m]; if it touches, write its row of work.touch
    and return 0.

    0 is also returned for a vertex near the boundary of an open surface that may come into contact by moving
    sideways.

    meshes : Meshes - the surfaces of all meshes
    contacts : MeshContacts - pairs of surfaces, and how they press on each other
    e, k : int - index e of the contact; k = 0: vertices of A in surface B, k = 1: of B in A
    i : int - index of the vertex
    at : (x, y, z) - its position in the axes of the surface that is pressed [m]
    t : int - index of that surface's closest triangle
    work : MeshWork - results and working space of the mesh contacts, written
    """
    x, y, z = at
    row = meshes.triangle[t]
    square, u, v, what = on_triangle(row, x, y, z)
    dx, dy, dz = way_from(row, u, v, x, y, z)
    nx, ny, nz, rim = side_normal(meshes, t, what)
    if rim:
        return max(math.sqrt(square) - rim_reach(contacts, e), 0.0)
    distance, sign = math.sqrt(square), 1.0 if dx * nx + dy * ny + dz * nz >= 0.0 else -1.0
    depth = contacts.offset[e] - sign * distance
    if depth <= 0.0:
        return -depth
    if depth > contacts.depth_max[e]:
        return depth - contacts.depth_max[e]
    bend = 0.0
    if what != FACE:
        length = distance
        if distance > TINY:
            bend = sign / distance
            nx, ny, nz = dx * bend, dy * bend, dz * bend
        else:
            length = math.sqrt(nx * nx + ny * ny + nz * nz)
            nx, ny, nz = nx / length, ny / length, nz / length
    j = contacts.vertex[e, k] + work.n_touch[e, k]
    touch = work.touch[j]
    work.touching[j] = i
    work.n_touch[e, k] += 1
    touch[PLACE], touch[PLACE + 1], touch[PLACE + 2] = x, y, z
    touch[AWAY], touch[AWAY + 1], touch[AWAY + 2] = nx, ny, nz
    touch[DEEP], touch[BEND] = depth, bend
    touch[SHARE] = row[AREA] if contacts.area[e, k] == PAPER_AREA else meshes.share[i]
    write_edge(row, what, touch)
    if contacts.direction[e, k] == OWN_NORMAL:
        nx, ny, nz = against(work.pose[e, k], meshes.vertex_normal[i])
    touch[PUSH], touch[PUSH + 1], touch[PUSH + 2] = nx, ny, nz
    return 0.0


@inlined
def against(pose, normal):
    """Return (x, y, z) of the direction opposite to a vertex normal, rotated into the axes of the other
    surface.

    pose : (4, 3) - rotation, then position, of the vertex's surface in the axes of the other one [m]
    normal : (3,) - unit normal in the axes of the vertex's own surface
    """
    x, y, z = normal[0], normal[1], normal[2]
    return (
        -(pose[0, 0] * x + pose[0, 1] * y + pose[0, 2] * z),
        -(pose[1, 0] * x + pose[1, 1] * y + pose[1, 2] * z),
        -(pose[2, 0] * x + pose[2, 1] * y + pose[2, 2] * z),
    )


@inlined
def write_edge(row, what, touch):
    """Write the unit direction of a triangle's closest edge into touch[ALONG:]; zeros if the closest feature
    is no edge.

    row : (N_TRIANGLE_ROW,) - the triangle's row of Meshes.triangle; what : int - its closest feature.
    """
    x, y, z = 0.0, 0.0, 0.0
    if EDGE <= what < CORNER:
        b, c = (1.0, 0.0) if what == EDGE else ((-1.0, 1.0) if what == EDGE + 1 else (0.0, 1.0))
        x = b * row[SIDE_AB] + c * row[SIDE_AC]
        y = b * row[SIDE_AB + 1] + c * row[SIDE_AC + 1]
        z = b * row[SIDE_AB + 2] + c * row[SIDE_AC + 2]
        per_length = 1.0 / math.sqrt(x * x + y * y + z * z)
        x, y, z = x * per_length, y * per_length, z * per_length
    touch[ALONG], touch[ALONG + 1], touch[ALONG + 2] = x, y, z
