"""All of the torque that a device tells against its parts, actuator and mechanics."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from rtsim.config.runs.device_schema import Mechanics
from tests.rtsim.device.lying import ORTHOSIS, Forge, Honest, swaying

TORQUES: dict[str, Forge] = {
    "20 N m more": lambda m: replace(m, torque=[m.torque[0] + 20.0]),
    "20 N m less": lambda m: replace(m, torque=[m.torque[0] - 20.0]),
    "20 N m more than is commanded, and no actuator": lambda m: replace(
        m, torque=[m.torque[0] + 20.0], actuator=[]
    ),
    "a spring that no config has": lambda m: replace(m, torque=[m.torque[0] - 120.0 * (m.angle[0] + 0.2)]),
}


@pytest.mark.parametrize("armed", [True, False])
@pytest.mark.parametrize("name", TORQUES)
def test_torque_that_nothing_makes_is_a_fault(name: str, armed: bool) -> None:
    """Protects limb and wearer: it latches, the limb feels none of it, and arming is refused."""
    course = Honest(swaying)
    course.armed(1.0) if armed else course.go(1.0)
    course.port.forge = TORQUES[name]
    assert course.until_fault(1.0) <= 0.25
    assert "its declared mechanics explain" in course.exchange.arming.reason
    assert course.exchange.torque() == 0.0
    course.go(0.5)
    assert "mechanics explain" in course.exchange.refusal
    course.port.forge = lambda message: message
    course.go(0.5)
    assert course.exchange.refusal == ""


def test_mirrored_torque_is_a_fault() -> None:
    """Protects from a sign that is the other way round: of 6 N m commanded it is 12 N m off."""
    course = Honest(lambda t: (-0.2, 0.0), replace(ORTHOSIS, mechanics=Mechanics())).armed(1.0)
    assert course.exchange.torque() == pytest.approx(6.0, abs=0.5)
    course.port.forge = lambda m: replace(m, torque=[-m.torque[0]])
    assert course.until_fault(1.0) < math.inf
    course = Honest(lambda t: (-0.2, 0.0), replace(ORTHOSIS, mechanics=Mechanics())).armed(1.0)
    course.port.forge = lambda m: replace(m, torque=[-m.torque[0]], actuator=[-m.actuator[0]])
    assert course.until_fault(1.0) < math.inf
    assert "the actuator applies" in course.exchange.arming.reason


@pytest.mark.parametrize("tells", [True, False])
def test_mechanics_that_are_declared_are_no_fault(tells: bool) -> None:
    """Protects from alarms for nothing: spring, damper, friction, noise, lag, actuator told or not."""
    course = Honest()
    if not tells:
        course.port.forge = lambda m: replace(m, actuator=[])
    course.armed(20.0)
    assert course.reasons == ["no device has answered yet"]


def test_mechanics_that_nobody_knows_have_a_limit() -> None:
    """Protects users of a device without a config of its own: `passive_max_Nm` bounds what it does."""
    course = Honest(
        swaying, replace(ORTHOSIS, mechanics=Mechanics(stiffness_N_m_rad=100.0)), passive_max_Nm=5.0
    )
    course.armed(3.0)
    course.port.forge = lambda m: replace(m, torque=[m.torque[0] + 8.0])
    assert course.until_fault(1.0) < math.inf
