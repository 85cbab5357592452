"""Inverse dynamics of a model in motion: generalized forces, net joint moments and forces, powers.

Moments are internal: muscles and ligaments produce them, and they act on the distal body. Along the axis of a
joint angle a moment is positive if it increases the angle. So a knee that gravity flexes has a negative
`knee_flexion` moment, produced by its extensors. See docs/kinetics.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import hold
from kernels.dynamics.kinetics import (
    ALONG_AXES,
    IN_DISTAL,
    IN_GROUND,
    IN_PROXIMAL,
    Cuts,
    joint_kinetics,
    new_kinetics,
)
from kernels.dynamics.system import System, new_dynamics_work
from kernels.joints.joint_angles import JointAxes
from kernels.joints.tree import Tree
from kernels.uncertainty.kinetic_errors import (
    KineticDeviations,
    LoadErrors,
    kinetic_deviations,
    new_error_work,
    new_kinetic_deviations,
)
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.methods.vectors import vector_product
from rtsim.models.model import Model, build
from rtsim.subjects.calibration.masses import BodyMeasures, with_masses
from rtsim.subjects.subject import Subject

Array = NDArray[np.float64]

FRAMES = {"ground": IN_GROUND, "proximal": IN_PROXIMAL, "distal": IN_DISTAL, "angles": ALONG_AXES}
"""Axes in which moments and forces are stated; with "angles" each component is the projection onto the axis
of an angle."""


class InverseDynamics:
    """Inverse dynamics of one model, frame by frame; all results are overwritten by the next frame.

    Parameters
    ----------
    system : the model; the forces of its constraints are included in the loads of the joints
    joints, sign : anatomical joints, and the signs (n_joint, 3) with which results state their angles
    weight : weight of the whole person [N], for normalised residuals
    on_proximal : (n_joint,) int64, 1 = the joint's centre is fixed in the proximal body, 0 = in the distal
        one; None = all 0
    root : body whose joint to ground should carry no load; its load is the residual

    Attributes
    ----------
    tau : (n_v,) generalized forces [N m, N]
    external : (n_body, 6) moments about the ground origin [N m] and forces [N] on the bodies
    weight : weight of the whole person [N]
    errors : covariances of motion, masses and external forces, which `deviate` uses
    deviations : standard deviations of the results, as `deviate` has computed them
    """

    def __init__(
        self,
        system: System,
        joints: JointAxes,
        sign: Array,
        weight: float,
        on_proximal: NDArray[np.int64] | None = None,
        root: int = 0,
    ) -> None:
        if not weight > 0.0:
            raise ConfigError(
                "no body has weight: all masses or gravity are zero",
                where="inverse dynamics",
                remedy="give masses and gravity in the model, or remove --forces",
            )
        n_body, n_v, n_joint = len(system.tree.parent), len(system.tree.dof_body), len(joints.distal)
        self._system, self._distal = system, joints.distal
        if on_proximal is None:
            on_proximal = np.zeros(n_joint, np.int64)
        cuts = Cuts(joints, np.ascontiguousarray(sign, float), on_proximal, root, float(weight))
        self.results = new_kinetics(n_joint)
        self.tau = np.zeros(n_v)
        self.external = np.zeros((n_body, 6))
        q, v = np.zeros(system.tree.q_start[-1]), np.zeros(n_v)
        work = new_dynamics_work(system.tree)
        self._root = work.pose.position[root]
        arguments = (system, cuts, q, v, v, self.external, work, self.results, self.tau)
        self._run = hold(joint_kinetics, arguments, given=(2, 3, 4))
        self.errors = LoadErrors(
            np.zeros((2, n_v, n_v)), np.zeros((2, 3, 3)), np.zeros(n_body), np.zeros((n_body, 6, 6))
        )
        self.deviations: KineticDeviations = new_kinetic_deviations(n_joint, n_v)
        self.weight = cuts.weight
        error_work = new_error_work(n_body, n_v, n_joint)
        of_errors = (system, cuts, self.errors, work, self.results, error_work, self.deviations)
        self._run_errors = hold(kinetic_deviations, of_errors)

    def compute(self, q: Array, v: Array, v_dot: Array) -> None:
        """Compute the generalized forces tau and all other results of a motion, q (n_q,), v and v_dot (n_v,),
        under the wrenches in `external`.
        """
        self._run(q, v, v_dot)

    def moment_deviation(self, frame: str = "angles") -> Array:
        """Return the standard deviations of the net joint moments, (n_joint, 3) [N m], a view.

        frame : axes of the components: "ground", "proximal", "distal", or "angles" = the axes of the joint
            angles
        """
        return self.deviations.moment[:, FRAMES[frame]]

    def force_deviation(self, frame: str = "angles") -> Array:
        """Return the standard deviations of the net joint forces, (n_joint, 3) [N], a view.

        frame : axes of the components: "ground", "proximal", "distal", or "angles" = the axes of the joint
            angles
        """
        return self.deviations.force[:, FRAMES[frame]]

    @property
    def residual_share_deviation(self) -> Array:
        """(2, 3) standard deviations of the residual moment and force at the root, divided by the person's
        weight [m, 1].
        """
        return self.deviations.residual / self.weight

    def deviate(self) -> None:
        """Compute standard deviations of the results of the last `compute` from `errors`; NaN if `errors`
        are NaN.
        """
        if np.isnan(self.errors.covariance[0, 0, 0]):
            for array in self.deviations:
                array[...] = np.nan
        else:
            self._run_errors()

    def leave_out(self, bodies: NDArray[np.bool_]) -> None:
        """Set the loads of the joints at the proximal end of some bodies, and the residual, to NaN until the
        next `compute`; bodies : (n_body,) whether the load depends on a motion that is unknown
        """
        results, at = self.results, bodies[self._distal]
        for array in (results.moment, results.force, results.angle_rate, results.power):
            array[at] = np.nan
        results.residual[:] = results.residual_share[:] = np.nan
        self.tau[bodies[self._system.tree.dof_body]] = np.nan

    def clear(self) -> None:
        """Set all external wrenches to zero."""
        self.external[:] = 0.0

    def push(self, body: int, force: Array, place: Array, free_moment: Array | None = None) -> None:
        """Add an external force (3,) [N] on a body at a position (3,) [m] in ground, and a free moment (3,)
        [N m] if it is given.
        """
        wrench, (x, y, z), (fx, fy, fz) = self.external[body], place, force
        wrench[0] += y * fz - z * fy
        wrench[1] += z * fx - x * fz
        wrench[2] += x * fy - y * fx
        wrench[3:] += force
        if free_moment is not None:
            wrench[:3] += free_moment

    def moment(self, frame: str = "angles") -> Array:
        """Return the net joint moments on the distal bodies, (n_joint, 3) [N m], a view.

        frame : axes of the components: "ground", "proximal", "distal", or "angles" = the axes of the joint
            angles
        """
        return self.results.moment[:, FRAMES[frame]]

    def force(self, frame: str = "angles") -> Array:
        """Return the net joint forces on the distal bodies, (n_joint, 3) [N], a view.

        frame : axes of the components: "ground", "proximal", "distal", or "angles" = the axes of the joint
            angles
        """
        return self.results.force[:, FRAMES[frame]]

    @property
    def power(self) -> Array:
        """(n_joint, 2) power of the moments on the relative rotation, and of the forces on the relative
        translation [W].
        """
        return self.results.power

    @property
    def angle_rate(self) -> Array:
        """(n_joint, 3) - rates of the joint angles [rad/s]."""
        return self.results.angle_rate

    @property
    def residual(self) -> Array:
        """(2, 3) moment about the root's origin [N m] and force [N] at the root that the external loads do
        not explain.
        """
        return self.results.residual

    @property
    def lacking(self) -> tuple[Array, Array]:
        """Missing external load: moment about the origin of ground (3,) [N m] and force (3,) [N].

        This is the load `residual` at the root. If no external wrench is given and the model is the whole
        body, it is the ground reaction.
        """
        moment, force = self.results.residual
        return moment + vector_product(self._root, force), force

    @property
    def mass(self) -> float:
        """Mass of all bodies of the model [kg]."""
        return float(self._system.bodies.mass.sum())

    @property
    def residual_share(self) -> Array:
        """(2, 3) residual at the root, moment and force, divided by the person's weight [m, 1]."""
        return self.results.residual_share


def every_joint(tree: Tree) -> JointAxes:
    """Return the joints of all bodies as joints for inverse dynamics: their centres are the origins of the
    joints' frames, their axes are the axes of the two bodies.
    """
    n = len(tree.parent)
    axes = np.tile(np.eye(3), (n, 1, 1))
    return JointAxes(
        proximal=tree.parent,
        distal=np.arange(n),
        axes_proximal=axes,
        axes_distal=axes,
        point_proximal=tree.position_in_parent,
        point_distal=tree.position_in_child,
    )


def dynamics_of_model(model: Model) -> InverseDynamics:
    """Prepare inverse dynamics of a model with its own masses, for all its joints in the order of its bodies.

    `moment` and `force` in "ground", "proximal" and "distal" axes are the joint reactions: the load
    transmitted from the parent to the child through the joint, including its actuators.
    """
    joints, system = every_joint(model.tree), model.system
    weight = float(system.bodies.mass.sum() * np.linalg.norm(system.gravity))
    return InverseDynamics(system, joints, np.ones((len(joints.distal), 3)), weight)


def inverse_dynamics_of(
    spec: ModelSpec, subject: Subject, person: BodyMeasures, method: str | None = None
) -> InverseDynamics:
    """Prepare inverse dynamics of a person's model with the segment masses of the person.

    method : method of the model whose joints are used; None = its first
    """
    heavy = with_masses(spec, subject, person)
    model = build(heavy, subject, method)
    weight = person.mass * float(np.linalg.norm(model.system.gravity))
    return InverseDynamics(model.system, model.joints, model.joint_signs, weight, model.centre_on_proximal)


def dynamics_of_methods(
    spec: ModelSpec, subject: Subject, person: BodyMeasures, estimator: MultibodyEstimator
) -> dict[str, InverseDynamics]:
    """Prepare inverse dynamics of a person for each method; methods with the same model share one."""
    by_model: dict[int, InverseDynamics] = {}
    for method in estimator.methods:
        key = id(estimator.placed_by(method)[0])
        if key not in by_model:
            by_model[key] = inverse_dynamics_of(spec, subject, person, method)
    return {method: by_model[id(estimator.placed_by(method)[0])] for method in estimator.methods}
