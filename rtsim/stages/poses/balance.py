"""Equilibrium of muscles and reactions at a joint, and the joint's position in it, whatever the source of the
motion.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kernels.fdk.problem import BALANCED, NOT_BALANCED, NOT_BORNE, NOT_PLACED
from kernels.forces.ligament import LINEAR
from kernels.forces.lines import TENSION
from kernels.solver.constraints import PATH_LENGTH, Roles
from rtsim.config.runs.fdk_schema import FdkSpec
from rtsim.config.runs.recruitment_schema import RecruitmentSpec
from rtsim.methods.fdk.fdk import ForceDependentKinematics
from rtsim.methods.fdk.joint_forces import JointForces
from rtsim.models.model import Model
from rtsim.quantity import ACTIVATIONS, AXES, Quantity
from rtsim.stages.loads.unbalanced_dofs import unbalanced_dofs
from rtsim.stages.stage import FINE, Stage, StageOutcome
from streams.messages import Curves, Status

TORN = "No equilibrium of the joint was found: the forces pull the joint apart, or too few steps are allowed."
PART = "The muscles cannot balance the whole load on the joint's bodies; what remains unbalanced"
NO_MUSCLES = (
    "No activations: the path of a muscle cannot be computed, constraints or held coordinates are "
    "redundant, or the solver found no solution."
)
NO_LOAD = "The force on a foot is not known, so the equilibrium of the joint was not computed."
KNOWN = (BALANCED, NOT_BORNE)
"""Outcomes of the solver with which there are results."""

LONGEST_JOINT = 48
"""Largest length of a title with the names of two bodies, limited by `streams.messages.Curves`
[characters]."""

CARRIES = "the body that carries them"
"""Axes in which displacements and forces at the points of joints are published, for descriptions."""


class Balance(Stage):
    """Base of stages that find the equilibrium of a model by force-dependent kinematics, and publish its
    results.

    Attributes
    ----------
    balanced, joints : the solver, and the joints that are in the results
    lateness : text that is appended to the description of each result, and says that it is delayed by a
      filter
    unplaced : text that says why a frame may have no pose
    """

    lateness, unplaced = "", ""

    def __init__(self, model: Model, roles: Roles, spec: FdkSpec, recruitment: RecruitmentSpec) -> None:
        super().__init__()
        self.balanced = ForceDependentKinematics(model, roles, spec, recruitment)
        self.joints = JointForces(self.balanced, spec.joints)
        self._stiffness = np.full(1, math.nan)
        # not the solver's own, which it goes on from where a frame has no balance
        turns = self.balanced.rotates
        self._lengths, self._angles = np.flatnonzero(~turns), np.flatnonzero(turns)
        self._length, self._force = np.full((2, len(self._lengths)), math.nan)
        self._angle, self._moment = np.full((2, len(self._angles)), math.nan)
        lines = self.balanced.model.forces.lines
        self._ligaments = np.flatnonzero(lines.law != LINEAR)
        self._tension = np.full(len(self._ligaments), math.nan)
        self._pull = np.full(len(self.balanced.model.names.wrapping), math.nan)
        for name in ("not_balanced", "load_not_borne", "unstable_joint"):
            self.counters[name] = 0

    def _why(self, status: int) -> str:
        """Return a sentence on why a joint has no equilibrium, or why part of the load is not borne, and on
        contacts without load."""
        own = self.balanced
        part = f"{PART}: {unbalanced_dofs(own.freedoms, own.not_borne(), own.turns)}."
        paths = np.flatnonzero(own.model.elements.kind == PATH_LENGTH)
        unplaced = self.unplaced
        if len(paths):
            held = ", ".join(own.model.names.elements[e] for e in paths)
            unplaced += (
                f" Or the path of {held} cannot be computed, because a point of the path lies inside "
                "a wrapping surface."
            )
        why = {NOT_BALANCED: TORN, NOT_BORNE: part, NOT_PLACED: unplaced}
        apart = self.joints.apart() if status in (NOT_BALANCED, NOT_BORNE) else ()
        told = f" There is no contact in {', '.join(apart)}." if apart else ""
        return why.get(status, NO_MUSCLES) + told

    def come_to(self, status: int) -> StageOutcome:
        """Copy the equilibrium of a frame from the solver into the published quantities, or set them to NaN
        if there is none; return the outcome of the frame.

        status : status that the solver returned
        """
        if status not in KNOWN:
            self.count("not_balanced", self._why(status))
            self.without()
            return StageOutcome(Status.NOT_CONVERGED, self.balanced.iterations)
        self.joints.update(known=True)
        own = self.balanced
        self._stiffness[0] = own.least_stiffness
        self._length[:], self._force[:] = own.alpha[self._lengths], own.residual[self._lengths]
        np.divide(own.alpha[self._angles], own.arc[self._angles], out=self._angle)
        np.multiply(own.residual[self._angles], own.arc[self._angles], out=self._moment)
        self._tension[:] = self.balanced.work.forces.lines.state[self._ligaments, TENSION]
        self._pull[:] = own.at.tension
        told = Status.OK
        if self._stiffness[0] <= 0.0:
            self.count(
                "unstable_joint", "The equilibrium of the joint is unstable: a small deviation would grow."
            )
            told |= Status.SUSPECT
        if status == NOT_BORNE:
            self.count("load_not_borne", self._why(status))
            told |= Status.DEGRADED
        return StageOutcome(told, self.balanced.iterations)

    def without(self) -> StageOutcome:
        """Set all results of the frame to NaN."""
        own = self.balanced
        for array in (
            own.activations, own.forces, own.pushes, own.reserves, self._stiffness, self._length, self._force,
            self._angle, self._moment, self._tension, self._pull,
        ):  # fmt: skip
            array[:] = math.nan
        self.joints.update(known=False)
        return FINE

    def quantities(self) -> list[Quantity]:
        """Return the muscles, reactions, FDK degrees of freedom and joints, as quantities."""
        late = self.lateness
        own, names = self.balanced, self.balanced.model.names
        one_way = tuple(own.hard[row] for row in own.joint.pushing)
        found = [
            Quantity(
                "muscle_activations", own.activations, "1", own.acting, curves=ACTIVATIONS,
                meaning="activation of each muscle with which the forces at the joint balance, as a "
                    f"fraction of the strength of the muscle{late}",
            ),
            Quantity(
                "muscle_forces", own.forces, "N", own.acting,
                meaning=f"force along the tendon, activation times strength plus passive force{late}",
            ),
        ]  # fmt: skip
        if one_way:
            found += [
                Quantity(
                    "unilateral_reactions", own.pushes, "N", one_way,
                    curves=Curves("Joint reactions", "force", 2, 10.0),
                    meaning=f"forces of elements that can push or pull in one direction only{late}",
                )
            ]  # fmt: skip
        if own.reserve_names:
            found += [
                Quantity(
                    "reserve_moments", own.reserves, "N m", own.reserve_names,
                    meaning="moments of the reserve actuators of the run; forces [N] for coordinates "
                        f"that are lengths{late}",
                )
            ]  # fmt: skip
        if len(self._ligaments):
            found += [
                Quantity(
                    "ligament_forces", self._tension, "N", tuple(names.lines[e] for e in self._ligaments),
                    meaning=f"tension of each ligament, 0 = slack{late}",
                )
            ]  # fmt: skip
        if len(self._pull):
            found += [
                Quantity(
                    "wrapping_ligament_forces", self._pull, "N", names.wrapping,
                    meaning=f"tension of ligaments that wrap over surfaces, 0 = slack{late}",
                )
            ]  # fmt: skip
        return found + self._of_freedoms() + self._of_joints()

    def _of_freedoms(self) -> list[Quantity]:
        """Return quantities of the FDK degrees of freedom: displacement, residual load and stiffness."""
        own, late = self.balanced, self.lateness
        decided = tuple(own.model.names.elements[e] for e in own.joint.element)
        lengths, angles = (tuple(decided[k] for k in rows) for rows in (self._lengths, self._angles))
        found: list[Quantity] = []
        if lengths:
            found += [
                Quantity(
                    "fdk_displacements", self._length, "m", lengths,
                    curves=Curves(f"{self._joint(self._lengths)} displacement", "displacement", 1, 0.001),
                    meaning="displacement along each FDK degree of freedom that is a length, from its "
                        f"target{late}",
                ),
                Quantity(
                    "fdk_residuals", self._force, "N", lengths, meaning="residual force along each FDK "
                    "degree of freedom that is a length; NaN = no equilibrium was found"
                ),
            ]  # fmt: skip
        if angles:
            found += [
                Quantity(
                    "fdk_rotations", self._angle, "rad", angles,
                    curves=Curves(f"{self._joint(self._angles)} rotation", "rotation", 1, 0.01),
                    meaning="rotation about each FDK degree of freedom that is an angle, from its "
                        f"neutral value{late}",
                ),
                Quantity(
                    "fdk_residual_moments", self._moment, "N m", angles,
                    meaning="residual moment about each FDK degree of freedom that is an angle; NaN = no "
                        "equilibrium was found",
                ),
            ]  # fmt: skip
        if decided:
            found += [
                Quantity(
                    "fdk_stiffness", self._stiffness, "N/m",
                    meaning="smallest real part of the eigenvalues of the joint stiffness matrix; the "
                        "equilibrium is stable if it is above 0",
                )
            ]  # fmt: skip
        return found

    def _joint(self, rows: NDArray[np.int64]) -> str:
        """Return the two bodies between which FDK degrees of freedom act as the title of a curve, such as
        "Mandible on skull"; "Joint" if these are not the same two bodies for all, or if the text is too long.

        rows : indices of the FDK degrees of freedom
        """
        elements, names = self.balanced.model.elements, self.balanced.model.names.bodies
        found = {
            tuple(sorted((int(elements.body_a[e]), int(elements.body_b[e]))))
            for e in self.balanced.joint.element[rows]
        }
        if len(found) > 1:
            return "Joint"
        ((base, moved),) = found  # a body comes after the one that carries it
        text = f"{names[moved]} on {names[base]}" if base >= 0 else names[moved]
        return text.replace("_", " ").capitalize() if len(text) <= LONGEST_JOINT else "Joint"

    def _of_joints(self) -> list[Quantity]:
        """Return displacements and forces of the joints that the run names."""
        joints, late = self.joints, self.lateness
        if not joints.names:
            return []
        return [
            Quantity(
                name="joint_point_displacements", array=joints.displacement, unit="m", labels=joints.names,
                parts=AXES, frame=CARRIES,
                meaning="displacement of the points where joints meet from their places in the neutral "
                    f"pose, in the axes of their bodies{late}",
            ),
            Quantity(
                name="joint_point_forces", array=joints.force, unit="N", labels=joints.names, parts=AXES,
                frame=CARRIES,
                meaning="force that contacts or reactions exert at the points where joints meet, in the "
                    f"axes of their bodies{late}",
            ),
        ]  # fmt: skip
