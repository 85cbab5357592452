"""The closed loop of limb and device: energy never grows within the stated limit; beyond it is refused."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kernels.compiler.jit import allow_compilation
from rtsim.config.runs.device_schema import Mechanics
from rtsim.config.runs.hil_schema import Controller
from rtsim.device.exchange import DeviceExchange
from rtsim.device.stability import check_stable, paths_of
from rtsim.errors import ConfigError
from rtsim.models.model import build
from rtsim.simulation.simulator import Simulator
from rtsim.stages.device.device_element import with_device
from rtsim.stages.device.exchange import DeviceTorque, TorqueCommand
from rtsim.stages.device.forward import ForwardStep
from streams.codec import FieldLayout
from streams.messages import Session
from streams.receiving.ring import ReceivedFrame
from tests.rtsim.device.straight import IDEAL, LIMITS, StraightPort, load_limb, plain_hil

INERTIA = 0.01
N_ARM, N_QUIET, N_TICK = 5, 40, 300
DAMPINGS, STIFFNESSES = (0.05, 5.0), (0.0, 400.0)
"""Declared ranges: of the limb's damping [N m s/rad], of the stiffness of controller and device [N m/rad]."""


@pytest.fixture(scope="module")
def limb() -> Simulator:
    """A hinge without gravity, which a device turns."""
    allow_compilation()
    spec = with_device(load_limb(), "joint")
    return Simulator(build(spec), spec.simulation)


def energies(
    limb: Simulator, rate_hz: float, damping: float, control: Controller, own: Mechanics
) -> list[float]:
    """Return the kinetic energy [J] at each tick from a kick on, at the neutral angle and armed."""
    limits = replace(LIMITS, torque_max_Nm=1e3, rate_max_Nm_s=1e6, power_max_W=1e6)
    exchange = DeviceExchange(
        plain_hil(rate_hz, limits, controller=control),
        StraightPort(replace(IDEAL, mechanics=own, actuator=replace(IDEAL.actuator, torque_max_Nm=1e3))),
        "0123456789abcdef",
    )  # fmt: skip
    limb.reset()
    limb.model.forces.springs.damping[0] = damping
    torque, command = DeviceTorque(exchange, limb), TorqueCommand(exchange, limb)
    forward = ForwardStep(limb, rate_hz)
    session = Session(session="0" * 16, stream="markers", t_start=0, rate=rate_hz, fields=())
    frame, found = ReceivedFrame(session, FieldLayout(session)), []
    for k in range(N_QUIET + N_TICK):
        if k == N_ARM:
            assert exchange.refusal == ""
            exchange.arming.arm("asked")
        if k == N_QUIET:
            assert exchange.arming.state == "armed"
            limb.v[0] = 0.3
        exchange.collect()
        exchange.begin_tick(0)
        found.append(0.5 * INERTIA * float(limb.v[0]) ** 2)
        for stage in (torque, forward, command):
            assert not stage.run(frame).failure
    return found[N_QUIET:]


@settings(max_examples=60, deadline=None)
@given(
    rate_hz=st.sampled_from([500.0, 1000.0, 2000.0]),
    damping=st.floats(*DAMPINGS),
    shares=st.tuples(*[st.integers(0, 50).map(lambda n: n / 50.0)] * 4),
    used=st.integers(1, 100).map(lambda n: n / 100.0),
)
def test_energy_never_grows_within_the_limit(
    limb: Simulator, rate_hz: float, damping: float, shares: tuple[float, ...], used: float
) -> None:
    """Protects whoever wears it: of a loop let through a kicked limb never has more than the kick."""
    device = replace(
        IDEAL, mechanics=Mechanics(stiffness_N_m_rad=400.0 * shares[2], damping_N_m_s_rad=damping * shares[3])
    )
    spec = plain_hil(rate_hz, controller=Controller(0.0, 400.0 * shares[0], damping * shares[1]))
    needed = sum(path.needs(1.0 / rate_hz) for path in paths_of(spec, device))
    assume(needed > 0.0)
    # all of the declared ranges, as far as they are let through, less rounding
    scale = min(1.0, used * damping / needed) * (1.0 - 1e-12)
    spec = plain_hil(
        rate_hz, controller=Controller(0.0, 400.0 * shares[0] * scale, damping * shares[1] * scale)
    )
    m = device.mechanics
    device = replace(
        device, mechanics=Mechanics(stiffness_N_m_rad=m.stiffness_N_m_rad * scale,
                                    damping_N_m_s_rad=m.damping_N_m_s_rad * scale),
    )  # fmt: skip
    assert check_stable(spec, device, damping) <= 1.0 + 1e-9
    found = energies(limb, rate_hz, damping, spec.controller, device.mechanics)
    assert max(found) <= found[0] * (1.0 + 1e-9)
    if spec.controller.stiffness_N_m_rad > 1.0:  # it does act: the limb turns round
        free = energies(limb, rate_hz, damping, Controller(), Mechanics())
        assert max(abs(a - b) for a, b in zip(found, free, strict=True)) > 1e-6 * found[0]


def test_beyond_the_limit_energy_grows_and_the_config_is_refused(limb: Simulator) -> None:
    """Protects the limit from meaning nothing: far beyond it the limb gains energy; the error states it."""
    control = Controller(0.0, 300.0, 0.0)
    found = energies(limb, 500.0, 0.05, control, Mechanics())
    assert max(found) > 10.0 * found[0]
    with pytest.raises(ConfigError, match="stiffness_N_m_rad of at most") as refused:
        check_stable(plain_hil(500.0, controller=control), IDEAL, 0.05)
    most = float(str(refused.value).split("at most ")[1].split(",")[0])
    assert most == pytest.approx(0.05 / (1.5 * 2e-3), rel=1e-3)
    check_stable(plain_hil(500.0, controller=Controller(0.0, 0.999 * most, 0.0)), IDEAL, 0.05)


def test_delay_and_lag_of_the_device_count() -> None:
    """Protects real devices: their delay, lag and friction use up damping, and two clocks more than one."""
    from rtsim.config.runs.device_schema import Actuator

    slow = replace(IDEAL, actuator=Actuator(100.0, 1e6, bandwidth_hz=20.0, delay_ms=4.0))
    rough = replace(IDEAL, mechanics=Mechanics(friction_Nm=1.0, friction_deg=1.0))
    spec = plain_hil(1000.0, controller=Controller(0.0, 20.0, 0.1))
    free = replace(spec, exchange=replace(spec.exchange, mode="free"))
    assert check_stable(spec, IDEAL, 1.0) == pytest.approx(20.0 * 1.5e-3 + 0.1)
    assert check_stable(spec, slow, 1.0) == pytest.approx(20.0 * (1.5e-3 + 4e-3 + 7.9577e-3) + 0.1, rel=1e-4)
    assert check_stable(spec, rough, 1.0) == pytest.approx(20.0 * 1.5e-3 + 0.1 + 57.2958 * 0.5e-3, rel=1e-4)
    assert check_stable(free, IDEAL, 1.0) == pytest.approx(20.0 * 3.5e-3 + 0.1)
