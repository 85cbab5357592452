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
    # sliding velocity with the largest (static) friction; law andersson: over which static friction decays
    transition_velocity_m_s: Positive = 1e-3
    # the same for spinning about the normal of the contact patch; required for spinning friction
    transition_angular_velocity_rad_s: Positive | None = None
    # viscous friction force per velocity; not used by the laws hollars and bengisu_akay
    viscous_N_s_m: NonNegative = 0.0
    # law brown_mcphee: normal force above which viscous friction acts fully
    transition_force_N: Positive = 10.0
    # law hollars: viscous friction per velocity and normal force
    viscous_s_m: NonNegative = 0.0
    # law specker: velocity from which friction is dynamic; a quarter of the transition velocity by default
    dynamic_velocity_m_s: Positive | None = None
    # law andersson: exponent of the decay of static friction
    exponent: Positive = 2.0
    # law andersson: steepness of friction over velocity at rest (k_tanh); law bengisu_akay: rate at which
    # static friction decays to dynamic friction above the transition velocity (xi)
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
        """Coefficients of friction against spinning, in the order of `row`: those of sliding friction, whose
        velocities are converted to angular velocities [rad/s] by the ratio of the two transition velocities,
        and without viscous friction.
        """
        mu_s, mu_d, v_t, _, F_nt, _, v_d, exponent, steepness = self.row
        w_t = self.transition_angular_velocity_rad_s or v_t
        part = w_t / v_t
        return mu_s, mu_d, w_t, 0.0, F_nt, 0.0, v_d * part, exponent, steepness / part

    @property
    def wets_at_N(self) -> float:
        """Normal force above which viscous friction acts fully [N]; 0 if it acts fully at any normal force,
        or if there is none.
        """
        return self.transition_force_N if self.law == "brown_mcphee" and self.viscous_N_s_m else 0.0
