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
    # constraint elements whose constraint force belongs to this joint while it has the given sign
    takes: dict[str, Literal["positive", "negative"]] = {}

    def __post_init__(self) -> None:
        check_once(self.contacts, "contacts")


class FdkSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Degrees of freedom of force-dependent kinematics (FDK), and numerical settings (docs/fdk.md)."""

    # elements that the method holds, whose values are sought, from planes or lengths, coordinates that are
    # translations or rotations, joint angles, lengths of muscles, ligaments and springs; none: all stay held
    dofs: tuple[str, ...] = ()
    # coordinates that the motion drives where the source is one (.mot, .sto), as many as the method leaves
    drivers: tuple[str, ...] = ()
    # bodies beyond whose joints muscles bear the load, held elements between them; none: all but the
    # first at whose joints muscles, held elements, forces or reserves work
    borne: tuple[str, ...] = ()
    # of what is left along them: forces, and moments over the lever
    tolerance_N: Positive = 0.1
    # at which an angle is measured by its arc, beside lengths
    lever_mm: Positive = 50.0
    # of the motion: that carry the markers along best (Andersen et al. 2017, eqs 9, 10), or of the optimum
    # itself, whose conditions are differentiated
    velocities: Literal["least_squares", "optimum"] = "least_squares"
    jacobian: Literal["analytic", "difference"] = "analytic"
    # step of the difference Jacobian: Andersen et al. 2017
    difference_mm: Positive = USUAL_DIFFERENCE_MM
    max_iterations: Annotated[int, msgspec.Meta(ge=1, le=200)] = 30
    # longest step of one iteration
    longest_mm: Positive = 1.0
    # where FDK degrees of freedom are sought first, and now and then while there is no balance; none given:
    # at 0, and then on from where the least was left
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
