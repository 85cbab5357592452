"""Schema of force-dependent kinematics (FDK): the table [fdk] of a run."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rtsim.config.models.model_names import check_known, check_once
from rtsim.config.models.place_schema import Positive

USUAL_DIFFERENCE_MM = 0.05


class JointForceSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A joint whose displacement and force are published. The displacement is that of the first point of a
    constraint element, and the force is the sum of chosen contact forces and constraint forces.
    """

    # constraint element whose first point is followed; its displacement is in the axes of the second body
    point: str
    # contacts of the model whose forces are added
    contacts: tuple[str, ...] = ()
    # constraint elements whose constraint force is added to the force of this joint while it has this sign
    takes: dict[str, Literal["positive", "negative"]] = {}

    def __post_init__(self) -> None:
        check_once(self.contacts, "contacts")


class FdkSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Settings of force-dependent kinematics (FDK): its degrees of freedom, which are quantities whose values
    are found such that no constraint force is needed to keep them, and numerical settings (docs/fdk.md).
    """

    # names of the FDK degrees of freedom: plane or distance constraints of the method, coordinates, joint
    # angles, and lengths of muscles, ligaments and springs; none given: all constraints stay as they are
    dofs: tuple[str, ...] = ()
    # if the source is a motion (.mot, .sto): coordinates that follow it, as many as the constraints permit
    drivers: tuple[str, ...] = ()
    # bodies at whose joints muscles and constraint elements balance the load; none given: all bodies except
    # the first, at whose joints muscles, constraint elements, forces or reserve actuators act
    borne: tuple[str, ...] = ()
    # largest force along an FDK degree of freedom that counts as none; of an angle, the moment over the lever
    tolerance_N: Positive = 0.1
    # lever arm by which angles and moments are converted to lengths and forces
    lever_mm: Positive = 50.0
    # speeds of the pose: those that follow the markers best (Andersen et al. 2017, eqs 9, 10), or the time
    # derivatives of the fitted pose, from its differentiated optimality conditions
    velocities: Literal["least_squares", "optimum"] = "least_squares"
    jacobian: Literal["analytic", "difference"] = "analytic"
    # step of the difference Jacobian: Andersen et al. 2017
    difference_mm: Positive = USUAL_DIFFERENCE_MM
    max_iterations: Annotated[int, msgspec.Meta(ge=1, le=200)] = 30
    # longest step of one iteration
    longest_mm: Positive = 1.0
    # values at which the search for FDK degrees of freedom begins, and at times begins again as long as no
    # balance is found; none given: it begins at 0, and then again at the values with the least imbalance
    start_mm: dict[str, float] = {}
    start_deg: dict[str, float] = {}
    # joints whose displacement and force are published, by name
    joints: dict[str, JointForceSpec] = {}

    def __post_init__(self) -> None:
        check_once(self.dofs, "dofs")
        check_once(self.drivers, "drivers")
        check_once(self.borne, "borne")
        both = [name for name in self.dofs if name in self.drivers]
        if both:
            raise ValueError(
                f"dofs: {both[0]!r} is also listed in drivers; remove it from dofs or from drivers"
            )
        check_once([*self.joints], "joints")
        check_known(self.start_mm, self.dofs, "start_mm")
        if self.difference_mm != USUAL_DIFFERENCE_MM and self.jacobian == "analytic":
            raise ValueError(
                'difference_mm is used only with jacobian = "difference"; set this, or remove it'
            )
