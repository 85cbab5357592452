"""Ligaments and springs along a line: twin, table, smoothness, signs, energy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kernels.forces.ligament import (
    LINEAR,
    N_LIGAMENT,
    TOE_LINEAR,
    damped_ligament_force,
    ligament_force,
    line_force,
    slack_length_from_reference,
    slack_length_from_stiffnesses,
    spring_force,
    toe_from_strain_stiffness,
)
from tests.naive import ligament

EPS1 = 0.03
# Brown (2017), table 3.2: K1 [N/mm^2], K2 [N/mm], L0 [mm] of the knee's ligaments.
KNEE = {
    "ACL anterior": (22.48, 83.15, 30.82),
    "ACL posterior": (26.27, 83.15, 26.38),
    "PCL anterior": (31.26, 125.00, 33.32),
    "PCL posterior": (19.29, 60.00, 25.92),
    "MCL anterior": (10.00, 91.25, 76.04),
    "MCL oblique": (5.00, 27.86, 46.43),
    "MCL deep": (5.00, 21.07, 35.12),
    "LCL": (10.00, 72.22, 60.18),
    "Posterior capsule medial": (12.00, 52.59, 36.52),
    "Posterior capsule lateral": (12.00, 54.62, 37.93),
    "Oblique popliteal": (3.00, 21.42, 59.50),
    "Arcuate popliteal": (3.00, 20.82, 57.83),
}


def knee_row(name: str, damping: float = 500.0, onset: float = 0.0) -> np.ndarray:
    """Return the parameters of a ligament of the knee in SI units."""
    k_toe, k_linear = KNEE[name][0] * 1e6, KNEE[name][1] * 1e3
    slack = slack_length_from_stiffnesses(k_toe, k_linear, EPS1)
    found = np.array([slack, k_toe, k_linear, EPS1, damping, onset])
    assert found.shape == (N_LIGAMENT,)
    return found


ACL, LCL = knee_row("ACL anterior"), knee_row("LCL")
# Toe and linear region that do not meet: each piece must still be its own.
UNEVEN = np.array([0.05, 3e6, 4e4, 0.04, 20.0, 0.0])
# Damping sets in over half of the toe, and over more than all of it.
GENTLE, GENTLER = knee_row("ACL anterior", onset=0.9e-3), knee_row("LCL", onset=5e-3)
STRAINS = (-0.2, -1e-9, 0.0, 1e-9, 0.01, 0.0599, 0.0601, 0.0799, 0.0801, 0.1, 0.5)
RATES = (-2.0, -0.05, 0.0, 0.05, 2.0)


@pytest.mark.parametrize("p", [ACL, LCL, UNEVEN, GENTLE, GENTLER])
def test_force_is_that_of_the_twin(p: np.ndarray) -> None:
    """Protects the pieces of the law, the damper while taut, and the spring."""
    for law, strain, rate in itertools.product((TOE_LINEAR, LINEAR), STRAINS, RATES):
        length = (1.0 + strain) * p[0]
        assert line_force(law, p, length, rate)[0] == pytest.approx(
            ligament.line_force(law, p, length, rate), rel=1e-12, abs=1e-12
        )


def test_one_number_chooses_the_law() -> None:
    """Protects the switch, and that the undamped law is the damped one at rest."""
    for strain, rate in itertools.product(STRAINS, RATES):
        length = (1.0 + strain) * ACL[0]
        assert line_force(TOE_LINEAR, ACL, length, rate) == damped_ligament_force(ACL, length, rate)
        assert line_force(LINEAR, ACL, length, rate) == spring_force(ACL, length, rate)
        assert damped_ligament_force(ACL, length, 0.0)[:2] == ligament_force(ACL, length)


@pytest.mark.parametrize("p", [ACL, LCL, UNEVEN, GENTLE, GENTLER])
def test_derivatives_are_the_differences(p: np.ndarray) -> None:
    """Protects both derivatives, inside every piece."""
    h, hr = 1e-7 * p[0], 1e-6
    for law, strain, rate in itertools.product((TOE_LINEAR, LINEAR), STRAINS, RATES):
        length = (1.0 + strain) * p[0]
        if min(abs(strain), abs(strain - 2.0 * p[3])) < 1e-6:
            continue
        found, by_length, by_rate = line_force(law, p, length, rate)
        ahead, behind = (line_force(law, p, length + d, rate)[0] for d in (h, -h))
        assert by_length == pytest.approx((ahead - behind) / (2.0 * h), rel=1e-6, abs=1e-3)
        ahead, behind = (line_force(law, p, length, rate + d)[0] for d in (hr, -hr))
        assert by_rate == pytest.approx((ahead - behind) / (2.0 * hr), rel=1e-6, abs=1e-6)
        if law == TOE_LINEAR and found == 0.0:
            assert (by_length, by_rate) == (0.0, 0.0)


@pytest.mark.parametrize("name", list(KNEE))
def test_slack_lengths_are_those_of_the_table(name: str) -> None:
    """Protects eq. 3.2 and the table's figures, to the printed digits."""
    k_toe, k_linear, printed = KNEE[name]
    assert round(slack_length_from_stiffnesses(k_toe, k_linear, EPS1), 2) == printed


@pytest.mark.parametrize("name", list(KNEE))
def test_toe_runs_smoothly_into_the_linear_region(name: str) -> None:
    """Protects C1 at the toe's end, with the slack length of eq. 3.2, and at slack length."""
    p = knee_row(name)
    end = (1.0 + 2.0 * EPS1) * p[0]
    below, above = ligament_force(p, end * (1.0 - 1e-12)), ligament_force(p, end * (1.0 + 1e-12))
    assert below == pytest.approx(above, rel=1e-9)
    assert above[1] == p[2]
    assert above[0] == pytest.approx(p[2] * EPS1 * p[0], rel=1e-9)
    assert ligament_force(p, p[0]) == (0.0, 0.0)
    just_taut = ligament_force(p, p[0] * (1.0 + 1e-9))
    assert just_taut == pytest.approx((0.0, 0.0), abs=1e-7 * p[2])


def test_both_parametrisations_are_one_law() -> None:
    """Protects K1 and K2 from a stiffness per strain, against that law written in strains."""
    for per_length, reference in itertools.product((136.2, 272.4, 544.8), (23.509e-3, 12.474e-3)):
        stiffness = per_length / 3.0 * reference
        for reference_strain in (-0.04, 0.0, 0.02):
            slack = slack_length_from_reference(reference, reference_strain)
            k_toe, k_linear = toe_from_strain_stiffness(stiffness, slack, EPS1)
            p = np.array([slack, k_toe, k_linear, EPS1, 0.0, 0.0])
            assert slack_length_from_stiffnesses(k_toe, k_linear, EPS1) == pytest.approx(slack, rel=1e-14)
            for strain in (-0.1, 0.0, 0.02, 0.0599, 0.0601, 0.3):
                expected = ligament.strain_force(stiffness, strain, EPS1)
                assert ligament_force(p, slack * (1.0 + strain))[0] == pytest.approx(
                    expected, rel=1e-12, abs=1e-15 * stiffness
                )
            # the reference length is at the reference strain
            at_reference = ligament_force(p, reference)[0]
            assert at_reference == pytest.approx(
                ligament.strain_force(stiffness, reference_strain, EPS1), rel=1e-12, abs=1e-15 * stiffness
            )


def test_ligament_never_pushes_and_is_limp_when_slack() -> None:
    """Protects the sign under any shortening, and no damping below slack length; a spring does push."""
    for strain, rate in itertools.product(np.linspace(-0.2, 0.3, 51), np.linspace(-30.0, 30.0, 41)):
        found = damped_ligament_force(ACL, (1.0 + strain) * ACL[0], rate)
        assert found[0] >= 0.0
        if strain <= 0.0:
            assert found == (0.0, 0.0, 0.0)
    assert damped_ligament_force(ACL, 1.01 * ACL[0], -10.0) == (0.0, 0.0, 0.0)
    assert spring_force(ACL, 0.9 * ACL[0], -1.0)[0] < 0.0


def work_over_a_cycle(
    p: np.ndarray, law: int, middle: float, stroke: float, speed: float
) -> tuple[float, float]:
    """Return the work put into a line over a sine of its length [J], and what a free damper takes [J]."""
    phase = np.linspace(0.0, 2.0 * np.pi, 4001)
    lengths, rates = middle + stroke * np.sin(phase), stroke * speed * np.cos(phase)
    forces = np.array([line_force(law, p, x, r)[0] for x, r in zip(lengths, rates, strict=True)])
    power, lost = forces * rates, p[4] * rates**2
    return float(np.trapezoid(power, phase / speed)), float(np.trapezoid(lost, phase / speed))


def test_damping_dissipates_and_elasticity_does_not() -> None:
    """Protects the energy of a cycle: nothing undamped, all of c rate^2 while taut, less if slack."""
    L0 = ACL[0]
    undamped = ACL.copy()
    undamped[4] = 0.0
    stored = 0.5 * ACL[2] * (0.05 * L0) ** 2
    for law in (TOE_LINEAR, LINEAR):
        work, _ = work_over_a_cycle(undamped, law, 1.02 * L0, 0.05 * L0, 3.0)
        assert work == pytest.approx(0.0, abs=1e-9 * stored)
        # always taut, and slow enough never to reach zero
        work, lost = work_over_a_cycle(ACL, law, 1.1 * L0, 0.05 * L0, 3.0)
        assert work == pytest.approx(lost, rel=1e-9)
        assert lost > 1e-4 * stored
    work, lost = work_over_a_cycle(ACL, TOE_LINEAR, 1.0 * L0, 0.05 * L0, 3.0)
    assert 0.1 * lost < work < lost
    # so fast that the damper wants to push: the force is cut, and still only takes
    work, lost = work_over_a_cycle(ACL, TOE_LINEAR, 1.05 * L0, 0.04 * L0, 2000.0)
    assert 0.1 * lost < work < 0.9 * lost


@pytest.mark.parametrize("p", [GENTLE, GENTLER])
@pytest.mark.parametrize("rate", [0.05, 1.0])
def test_damping_that_sets_in_gently_is_continuous_with_its_slopes(p: np.ndarray, rate: float) -> None:
    """Protects the onset: force and both derivatives go to zero at slack length, and meet at its end."""
    for length in (p[0], p[0] + p[5]):
        below, above = (line_force(TOE_LINEAR, p, length + d, rate) for d in (-1e-12, 1e-12))
        assert above[0] == pytest.approx(below[0], rel=1e-6, abs=1e-6)
        assert above[1:] == pytest.approx(below[1:], rel=1e-6, abs=1e-6 * p[2])
    at_once = p.copy()
    at_once[5] = 0.0
    beyond = p[0] + 1.001 * p[5]
    assert line_force(TOE_LINEAR, p, beyond, rate) == line_force(TOE_LINEAR, at_once, beyond, rate)
    half = line_force(TOE_LINEAR, p, p[0] + 0.5 * p[5], rate)
    assert half[2] == pytest.approx(0.5 * p[4], rel=1e-12)


def test_gentle_damping_only_takes_energy() -> None:
    """Protects the sign of the damper over its onset: a cycle through slack length takes work."""
    for p in (GENTLE, GENTLER):
        work, lost = work_over_a_cycle(p, TOE_LINEAR, p[0], 0.05 * p[0], 3.0)
        assert 0.01 * lost < work < 0.5 * lost
