"""Friction laws by name: the coefficients in a model file, and their columns in kernels/forces/friction."""

from __future__ import annotations

from typing import Literal

import msgspec

from rtsim.config.models.place_schema import NonNegative, Positive

DYNAMIC_PART = 0.25
"""Specker's v_d in parts of v_t where none is given: puts the peak at v_t (Brown 2017, section 4.1.3)."""


class Friction(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A friction law and its coefficients (kernels/forces/friction); each law uses only some of the
    coefficients.
    """

    law: Literal["brown_mcphee", "andersson", "hollars", "specker", "bengisu_akay"] = "brown_mcphee"
    static: NonNegative = 0.0
    dynamic: NonNegative = 0.0
    # where static friction peaks; andersson: over which it decays
    transition_velocity_m_s: Positive = 1e-3
    # likewise of spinning about the normal of a patch, which needs it
    transition_angular_velocity_rad_s: Positive | None = None
    # not hollars, bengisu_akay
    viscous_N_s_m: NonNegative = 0.0
    # brown_mcphee: normal force from which viscous friction is whole
    transition_force_N: Positive = 10.0
    # hollars: viscous friction per normal force
    viscous_s_m: NonNegative = 0.0
    # specker: velocity at which dynamic friction sets in; a quarter of the transition velocity by default
    dynamic_velocity_m_s: Positive | None = None
    # andersson
    exponent: Positive = 2.0
    # andersson: at rest; bengisu_akay: of the fall from static to dynamic friction
    steepness_s_m: Positive = 1e4

    def __post_init__(self) -> None:
        if self.dynamic > self.static:
            raise ValueError(
                f"dynamic = {self.dynamic:g} is above static = {self.static:g}; allowed: 0 to static"
            )

    @property
    def row(self) -> tuple[float, ...]:
        """Coefficients of the law in the order of the columns of kernels/forces/friction."""
        v_t, v_d = self.transition_velocity_m_s, self.dynamic_velocity_m_s
        if self.law == "andersson":
            v_d = v_t
        elif v_d is None:
            v_d = DYNAMIC_PART * v_t
        return (
            self.static, self.dynamic, v_t, self.viscous_N_s_m, self.transition_force_N,
            self.viscous_s_m, v_d, self.exponent, self.steepness_s_m,
        )  # fmt: skip

    @property
    def spin_row(self) -> tuple[float, ...]:
        """Return the parameters of spinning friction: all transition velocities become angular velocities by
        the same factor, without viscous friction.
        """
        mu_s, mu_d, v_t, _, F_nt, _, v_d, exponent, steepness = self.row
        w_t = self.transition_angular_velocity_rad_s or v_t
        part = w_t / v_t
        return mu_s, mu_d, w_t, 0.0, F_nt, 0.0, v_d * part, exponent, steepness / part

    @property
    def wets_at_N(self) -> float:
        """Return the normal force above which viscous friction acts fully [N]; 0 if it always does, or there
        is none.
        """
        return self.transition_force_N if self.law == "brown_mcphee" and self.viscous_N_s_m else 0.0
