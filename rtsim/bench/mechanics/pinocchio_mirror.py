"""A copy of a system in Pinocchio, the library with which the dynamics of rtsim are compared, and the
relation of its variables to those of rtsim.

Pinocchio (Carpentier et al. 2019, IEEE/SICE SII, 614-619) numbers bodies depth first, writes quaternions x,
y, z, w and the angle of a planar joint as cosine and sine, and expresses the velocity of free and planar
joints in the moving frame, whereas rtsim (kernels/joints/tree) expresses that of the translations in the
parent's joint frame. So Pinocchio's speeds are T(q) times those of rtsim, and the generalized forces of rtsim
are T' times those of Pinocchio.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pinocchio
from numpy.typing import NDArray

from kernels.dynamics.system import System
from kernels.joints.kinds import BALL, CHAIN, FREE, HINGE, SLIDER
from kernels.joints.tree import Tree

Array = NDArray[np.float64]
pin: Any = pinocchio
ALIGNED = {True: ("RX", "RY", "RZ"), False: ("PX", "PY", "PZ")}  # Pinocchio's joints along axes


class JointAxis(NamedTuple):
    """One motion of a joint: rotation about an axis or translation along it, by a coordinate itself and not
    by a function of it.
    """

    rotates: bool
    axis: Array


class MirroredJoint(NamedTuple):
    """A joint of Pinocchio, the pose of its frame in the frame before it, that of the parent body or of
    another joint, and the indices of its first coordinate and first speed in rtsim's order.
    """

    joint: Any
    place: Any  # pose of the joint's frame in the frame before it
    q: int
    v: int
    is_planar: bool = False


@dataclass(frozen=True)
class Mirror:
    """A copy of a system in Pinocchio; its methods take and return quantities in rtsim's numbering of bodies,
    coordinates and speeds.
    """

    model: Any
    data: Any
    pieces: list[tuple[Any, MirroredJoint]]  # each joint in Pinocchio's model, with its description
    carrier: list[int]  # index of the joint of Pinocchio that moves each body
    place: list[Any]  # pose of each body in the frame of that joint

    def coordinates(self, q: Array) -> Array:
        """Return the coordinates of a pose in Pinocchio's order and form, from those of rtsim, q : (n_q,)."""
        theirs = np.zeros(self.model.nq)
        for joint, piece in self.pieces:
            if piece.is_planar:
                x, y, angle = q[piece.q : piece.q + 3]
                own = np.array([x, y, np.cos(angle), np.sin(angle)])
            else:
                own = q[piece.q : piece.q + joint.nq]
                if joint.nq > 1:  # the scalar of the quaternion last
                    own = np.concatenate([own[:-4], own[-3:], own[-4:-3]])
            theirs[joint.idx_q : joint.idx_q + joint.nq] = own
        return theirs

    def speeds(self, q: Array) -> Array:
        """Return the matrix T : (n_v, n_v) that turns speeds of rtsim into those of Pinocchio, at the
        coordinates q.
        """
        T = np.zeros((self.model.nv, self.model.nv))
        for joint, piece in self.pieces:
            turn = np.eye(joint.nv)
            n = 2 if piece.is_planar else 3
            if piece.is_planar or joint.nv == 6:
                turn[:n, :n] = self.moving_axes(piece, q)[:n, :n].T
            T[joint.idx_v : joint.idx_v + joint.nv, piece.v : piece.v + joint.nv] = turn
        return T

    def carried(self, q: Array, v: Array) -> Array:
        """Return (dT/dt) v, (n_v,): Pinocchio's accelerations are T v_dot plus this, as its speeds are T(q)
        v. q, v, v_dot : coordinates, speeds and accelerations of rtsim
        """
        extra = np.zeros(self.model.nv)
        for joint, piece in self.pieces:
            own = v[piece.v : piece.v + joint.nv]
            start = joint.idx_v
            if piece.is_planar:
                linear = self.moving_axes(piece, q).T @ np.array([own[0], own[1], 0.0])
                extra[start : start + 2] = -np.cross([0.0, 0.0, own[2]], linear)[:2]
            elif joint.nv == 6:
                extra[start : start + 3] = -np.cross(own[3:], self.moving_axes(piece, q).T @ own[:3])
        return extra

    @staticmethod
    def moving_axes(piece: MirroredJoint, q: Array) -> Array:
        """Return the rotation (3, 3) of the child frame of a free or planar joint in its parent frame, at the
        coordinates q of rtsim.
        """
        if piece.is_planar:
            return pin.exp3(np.array([0.0, 0.0, q[piece.q + 2]]))
        w, x, y, z = q[piece.q + 3 : piece.q + 7]
        return pin.Quaternion(w, x, y, z).toRotationMatrix()

    def wrenches(self, q: Array, wrench: Array) -> Any:
        """Convert external wrenches (n_body, 6) about ground's origin to wrenches on Pinocchio's joints in
        their own frames.
        """
        pin.forwardKinematics(self.model, self.data, self.coordinates(q))
        forces = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for b, joint in enumerate(self.carrier):
            forces[joint] += self.data.oMi[joint].actInv(pin.Force(wrench[b, 3:], wrench[b, :3]))
        collected = pin.StdVec_Force()
        collected.extend(forces)
        return collected

    def inverse_dynamics(self, q: Array, v: Array, v_dot: Array, wrench: Array) -> Array:
        """Return the generalized forces tau : (n_v,) in rtsim's coordinates, by Pinocchio's recursive
        Newton-Euler algorithm; wrench : (n_body, 6) - external wrenches about ground's origin
        """
        T, acting = self.speeds(q), self.wrenches(q, wrench)
        theirs = (self.coordinates(q), T @ v, T @ v_dot + self.carried(q, v))
        return T.T @ pin.rnea(self.model, self.data, *theirs, acting)

    def forward_dynamics(self, q: Array, v: Array, tau: Array, wrench: Array) -> Array:
        """Return the accelerations v_dot : (n_v,) in rtsim's coordinates, by Pinocchio's articulated-body
        algorithm; wrench : (n_body, 6) - external wrenches about ground's origin
        """
        T, acting = self.speeds(q), self.wrenches(q, wrench)
        theirs = pin.aba(self.model, self.data, self.coordinates(q), T @ v, T @ tau, acting)
        return T.T @ (theirs - self.carried(q, v))  # T is orthogonal

    def mass_matrix(self, q: Array) -> Array:
        """Return the mass matrix (n_v, n_v) in rtsim's coordinates, both triangles, computed by Pinocchio."""
        T = self.speeds(q)
        upper = np.triu(pin.crba(self.model, self.data, self.coordinates(q)))
        return T.T @ (upper + np.triu(upper, 1).T) @ T


def mirror(system: System) -> Mirror:
    """Build the copy of a system in Pinocchio; raise ValueError if joints are driven by functions, which
    Pinocchio does not have.
    """
    tree, model = system.tree, pin.Model()
    model.gravity.linear = system.gravity
    carrier, place = [0] * len(tree.parent), [pin.SE3.Identity()] * len(tree.parent)
    pieces = []
    for b in depth_first(tree):
        p = int(tree.parent[b])
        joint, before = (carrier[p], place[p]) if p >= 0 else (0, pin.SE3.Identity())
        before = before * pin.SE3(tree.rotation_in_parent[b], tree.position_in_parent[b])
        for piece in joint_pieces(tree, b):
            joint = model.addJoint(joint, piece.joint, before * piece.place, f"{b}.{piece.v}")
            before = piece.place.inverse()
            pieces.append((joint, piece))
        carrier[b] = joint
        place[b] = before * pin.SE3(tree.rotation_in_child[b], tree.position_in_child[b]).inverse()
        bodies = system.bodies
        inertia = pin.Inertia(bodies.mass[b], bodies.centre[b], bodies.inertia[b])
        model.appendBodyToJoint(joint, inertia, place[b])
    placed = [(model.joints[joint], piece) for joint, piece in pieces]
    return Mirror(model, model.createData(), placed, carrier, place)


def depth_first(tree: Tree) -> list[int]:
    """Return the bodies in depth-first order, so that every subtree is contiguous, as Pinocchio's mass
    matrix requires.
    """
    order: list[int] = []
    waiting = [b for b in range(len(tree.parent) - 1, -1, -1) if tree.parent[b] < 0]
    while waiting:
        b = waiting.pop()
        order.append(b)
        waiting += [c for c in range(len(tree.parent) - 1, -1, -1) if tree.parent[c] == b]
    return order


def joint_pieces(tree: Tree, b: int) -> list[MirroredJoint]:
    """Return the joints of Pinocchio that together form joint b of the tree, from its parent frame to its
    body frame.
    """
    kind, q, v, here = tree.kind[b], int(tree.q_start[b]), int(tree.v_start[b]), pin.SE3.Identity()
    if kind in (HINGE, SLIDER):
        return [MirroredJoint(along(JointAxis(kind == HINGE, tree.parameter[b])), here, q, v)]
    if kind == BALL:
        return [MirroredJoint(pin.JointModelSpherical(), here, q, v)]
    if kind == FREE:
        return [MirroredJoint(pin.JointModelFreeFlyer(), here, q, v)]
    motions = chain_motions(tree, b) if kind == CHAIN else []
    if [m.rotates for m in motions] == [False, False, True]:
        axes = np.array([m.axis for m in motions]).T
        if np.allclose(axes.T @ axes, np.eye(3), atol=1e-14) and np.linalg.det(axes) > 0.0:
            return [MirroredJoint(pin.JointModelPlanar(), pin.SE3(axes, np.zeros(3)), q, v, True)]
    # links without mass between the motions
    return [MirroredJoint(along(motion), here, q + i, v + i) for i, motion in enumerate(motions)]


def chain_motions(tree: Tree, b: int) -> list[JointAxis]:
    """Return the rotations and translations along axes of which joint b, a chain of such motions, consists;
    ValueError where functions of coordinates drive it, which Pinocchio does not have.
    """
    chains, own = tree.chains, range(tree.chains.start[b], tree.chains.start[b + 1])
    if any(chains.function[m] >= 0 for m in own) or [chains.dof[m] for m in own] != list(range(len(own))):
        raise ValueError(f"Pinocchio has no joint like joint {b}, whose motion is given by functions")
    return [JointAxis(bool(chains.rotates[m]), chains.axis[m]) for m in own]


def along(motion: JointAxis) -> Any:
    """Return Pinocchio's hinge or slider along an axis."""
    if np.array_equal(np.sort(motion.axis), [0.0, 0.0, 1.0]):
        return getattr(pin, "JointModel" + ALIGNED[motion.rotates][int(np.argmax(motion.axis))])()
    unaligned = pin.JointModelRevoluteUnaligned if motion.rotates else pin.JointModelPrismaticUnaligned
    return unaligned(motion.axis)


def calls(peer: Mirror, q: Array, v: Array, v_dot: Array, tau: Array) -> dict[str, Callable[[int], None]]:
    """Return Pinocchio's algorithms by name, each as a function batch(n) that runs the algorithm n times and
    cycles through these states (n_state, ...), given in rtsim's coordinates.
    """
    T = [peer.speeds(row) for row in q]
    theirs = [peer.coordinates(row) for row in q]
    speeds = [turn @ row for turn, row in zip(T, v, strict=True)]
    rates = [turn @ row + peer.carried(*at) for turn, row, *at in zip(T, v_dot, q, v, strict=True)]
    forces = [turn @ row for turn, row in zip(T, tau, strict=True)]
    coordinates = [(row,) for row in theirs]

    def repeated(algorithm: Any, inputs: Sequence[tuple[Array, ...]]) -> Callable[[int], None]:
        model, data, n_state = peer.model, peer.data, len(inputs)

        def batch(n: int) -> None:
            for i in range(n):
                algorithm(model, data, *inputs[i % n_state])

        return batch

    return {
        "rnea": repeated(pin.rnea, list(zip(theirs, speeds, rates, strict=True))),
        "aba": repeated(pin.aba, list(zip(theirs, speeds, forces, strict=True))),
        "crba": repeated(pin.crba, coordinates),
        "jacobians": repeated(pin.computeJointJacobians, coordinates),
    }
