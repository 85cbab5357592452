"""The simulated orthosis: what its parts do, alone and together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec.structs import replace

from rtsim.config.load import load_toml
from rtsim.config.paths import find_config, shipped_names
from rtsim.config.runs.device_schema import Actuator, DeviceSpec, Mechanics, SafeState, Sensors
from rtsim.device.orthosis import Orthosis
from rtsim.device.watchdog import Watchdog
from streams.messages import Output

PLAIN = DeviceSpec(
    name="plain", source="made up", joint="ankle", tick_hz=1000.0, speed_max_deg_s=1000.0,
    actuator=Actuator(torque_max_Nm=20.0, rate_max_Nm_s=1e6),
)  # fmt: skip
RUN = "0123456789abcdef"


def driven(spec: DeviceSpec, torque: float, torque_max: float = 100.0) -> tuple[Orthosis, Watchdog]:
    """Return an orthosis that is armed with a torque."""
    watchdog = Watchdog(SafeState(), 1e-3)
    for seq, armed in enumerate((False, True)):
        watchdog.take(
            Output(session=RUN, seq=seq, t_sent=0, valid_for_ms=1000.0, armed=armed, time=0.0, tick_ms=1.0,
                   torque=[torque], torque_max=[torque_max], angle=[0.0], speed=[0.0]), 0, 0.0, 0.0,
        )  # fmt: skip
    return Orthosis(spec), watchdog


@pytest.mark.parametrize(
    ("torque", "most", "acts"),
    [
        (5.0, 9.0, 5.0), (-15.0, 9.0, -9.0), (50.0, 90.0, 20.0), (50.0, -1000.0, 0.0), (5.0, -9.0, 0.0),
        (-5.0, math.nan, 0.0), (math.nan, 9.0, 0.0), (math.inf, 9.0, 0.0),
    ],
)  # fmt: skip
def test_torque_stays_within_both_limits(torque: float, most: float, acts: float) -> None:
    """Protects the joint: the command's limit and the device's own, either way."""
    orthosis, watchdog = driven(PLAIN, torque, most)
    assert orthosis.step(watchdog, 1e-3).actuator == acts


def test_torque_lags_as_a_filter_of_first_order() -> None:
    """Protects the bandwidth: the step response is 1 - exp(-2 pi f t), after the delay."""
    actuator = Actuator(torque_max_Nm=20.0, rate_max_Nm_s=1e6, bandwidth_hz=20.0, delay_ms=3.0)
    orthosis, watchdog = driven(replace(PLAIN, actuator=actuator), 5.0)
    found = [orthosis.step(watchdog, 1e-3).actuator for _ in range(30)]
    assert found[:3] == [0.0] * 3
    expected = 5.0 * (1.0 - np.exp(-2.0 * math.pi * 20.0 * 1e-3 * np.arange(1, 28)))
    np.testing.assert_allclose(found[3:], expected, rtol=1e-12)


def test_torque_changes_no_faster_than_its_rate() -> None:
    """Protects the joint from jumps."""
    orthosis, watchdog = driven(replace(PLAIN, actuator=Actuator(20.0, 1000.0)), 5.0)
    found = [orthosis.step(watchdog, 1e-3).actuator for _ in range(8)]
    assert found == pytest.approx([1.0, 2.0, 3.0, 4.0, 5.0, 5.0, 5.0, 5.0])


def test_torque_that_is_not_commanded_any_more_falls_by_the_clock() -> None:
    """Protects the joint from a stalled device: after a stop the lag and the rate are where the clock is."""
    actuator = Actuator(torque_max_Nm=20.0, rate_max_Nm_s=100.0, bandwidth_hz=20.0)
    orthosis, watchdog = driven(replace(PLAIN, actuator=actuator), 5.0)
    for k in range(300):
        orthosis.step(watchdog, 1e-3, k * 1_000_000 + 1, asked=False)
    assert orthosis.actuator == pytest.approx(5.0, rel=1e-6)
    assert watchdog.output is not None
    watchdog.take(replace(watchdog.output, seq=2, armed=False), 0, 5.0, 0.0)
    assert orthosis.step(watchdog, 1e-3, 300_000_001, asked=False).actuator > 4.9
    assert abs(orthosis.step(watchdog, 1e-3, 800_000_001, asked=False).actuator) < 1e-6


def test_no_torque_rises_faster_than_its_rate_after_a_stop() -> None:
    """Protects the joint from a leap: the time that a process was stopped is none in which torque rose."""
    orthosis, watchdog = driven(replace(PLAIN, actuator=Actuator(20.0, 1000.0)), 5.0)
    assert orthosis.step(watchdog, 1e-3, 1_000_000, asked=False).actuator == pytest.approx(1.0)
    assert orthosis.step(watchdog, 1e-3, 500_000_000, asked=False).actuator == pytest.approx(2.0)


def test_hysteresis_never_gives_energy() -> None:
    """Protects passivity of the blade: a cycle takes in work, the loop's area."""
    mechanics = Mechanics(stiffness_N_m_rad=30.0, friction_Nm=0.5, friction_deg=2.0)
    orthosis, watchdog = driven(replace(PLAIN, mechanics=mechanics), 0.0)
    at = np.radians(15.0) * np.sin(np.linspace(0.0, 6.0 * np.pi, 6001))
    torque = []
    for angle in at:
        orthosis.move(float(angle), 0.0)
        torque.append(orthosis.step(watchdog, 1e-3).torque)
    work = np.cumsum(np.diff(at) * 0.5 * (np.array(torque[1:]) + np.array(torque[:-1])))
    assert (work <= 1e-12).all()
    loop = work[3999] - work[1999]  # one cycle, after the first
    assert loop == pytest.approx(-4.0 * 0.5 * np.radians(15.0 - 1.0 * 2.0), rel=1e-3)


def test_the_same_seed_measures_the_same() -> None:
    """Protects repetition: begun anew, noise and drop-outs are those of the first time."""
    sensors = Sensors(angle_noise_deg=1.0, speed_noise_deg_s=2.0, torque_noise_Nm=0.5, dropout=0.3, seed=4)
    orthosis, watchdog = driven(replace(PLAIN, sensors=sensors), 1.0)
    runs = []
    for _ in range(2):
        orthosis.begin()
        runs.append([(orthosis.step(watchdog, 1e-3), orthosis.drops()) for _ in range(50)])
    assert runs[0] == runs[1]
    dropped = sum(drop for _, drop in runs[0])
    assert 5 < dropped < 25
    angles = np.degrees([measured.angle for measured, _ in runs[0]])
    assert 0.6 < angles.std() < 1.5


@pytest.mark.parametrize("name", shipped_names("devices"))
def test_a_shipped_device_gives_the_torque_of_a_command(name: str) -> None:
    """Protects shipped devices: within half a second the actuator is within 1 % of what it was told."""
    orthosis, watchdog = driven(load_toml(find_config(name, "devices"), DeviceSpec), 5.0)
    for _ in range(500):
        measured = orthosis.step(watchdog, 1e-3)
    assert measured.actuator == pytest.approx(5.0, rel=0.01)
