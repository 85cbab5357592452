"""The judge of ramps in the bench of hostile peers, on made-up outputs of a spring of 10 N m/rad."""

from __future__ import annotations

import math

import pytest

from benchmarks.hil_hostile.case import Sample
from benchmarks.hil_hostile.configs import RAMP_S, declared_by, run_config
from benchmarks.hil_hostile.ramp import ramps, too_steep, whole_torque

MS = 1_000_000
STRETCH = math.radians(35.0)
"""From the neutral angle of the run to the angle of a device that stands at zero."""
WHOLE = 10.0 * STRETCH


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    """The run of a person who wears the device."""
    return declared_by(run_config(tmp_path_factory.mktemp("ramp"), "worn")).spec


@pytest.fixture
def still():
    """What a device measures whose joint stands: each 2 ms, from before the torque on."""
    return [(2 * k * MS, 0.0, 0.0) for k in range(-50, 500)]


def rising(ramp_s: float, end_ms: int, begin_ms: int = 0) -> list[Sample]:
    """Outputs each 2 ms of a ramp that ends without torque."""
    on = [
        Sample((begin_ms + k) * MS, True, WHOLE * min(1.0, k / (1e3 * ramp_s))) for k in range(0, end_ms, 2)
    ]
    return [*on, Sample((begin_ms + end_ms) * MS, False, 0.0)]


def test_a_ramp_that_ends_early_is_no_steep_one(spec, still):
    """Protects against false findings: a fault at a third of the ramp leaves its slope as it is."""
    assert too_steep(spec, rising(RAMP_S, 70), still) == ()
    assert too_steep(spec, rising(RAMP_S, 600), still) == ()


def test_a_steep_ramp_is_found_however_early_it_ends(spec, still):
    """Protects the finding: three times as steep as stated, whole or cut short, the first or a later one."""
    assert "% of the torque after" in too_steep(spec, rising(RAMP_S / 3.0, 600), still)[0]
    assert too_steep(spec, rising(RAMP_S / 3.0, 70), still)
    assert too_steep(spec, [*rising(RAMP_S, 70), *rising(RAMP_S / 3.0, 70, 200)], still)


def test_torque_beyond_the_rate_is_found(spec, still):
    """Protects the finding: torque that is whole at once is beyond the rate that the run states."""
    outputs = [Sample(k * MS, True, 19.0) for k in range(10)]
    assert "faster than the allowed rate" in too_steep(spec, outputs, still)[0]


def test_whole_torque_is_that_of_angles_just_before(spec, still):
    """Protects the yardstick: the stiffness times the stretch, and the limit where no angle is known."""
    assert whole_torque(spec, still, 0) == pytest.approx(WHOLE, rel=1e-12)
    bent = [*still, (1001 * MS, math.radians(-60.0), 0.0)]
    assert whole_torque(spec, bent, 1002 * MS) == pytest.approx(10.0 * math.radians(95.0), rel=1e-12)
    assert whole_torque(spec, still, 5000 * MS) == spec.limits.torque_max_Nm


def test_each_time_under_torque_is_a_ramp():
    """Protects what is compared: outputs without torque divide ramps."""
    outputs = [Sample(k, on, 0.0) for k, on in enumerate((False, True, True, False, False, True))]
    assert [[sample.t_ns for sample in ramp] for ramp in ramps(outputs)] == [[1, 2], [5]]
