"""Shipped limbs with an ideal device: it gives no more than the joint's damper takes; drift ends torque."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec.structs import replace

from kernels.compiler.jit import allow_compilation
from rtsim.config.load import load_toml
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.config.runs.hil_schema import Controller, HilSpec, MisalignmentSpec
from rtsim.device.exchange import DeviceExchange
from rtsim.live.hardware.limb_parts import parts_of
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.simulation.simulator import Simulator
from rtsim.stages.device.device_element import with_device
from rtsim.stages.device.energy import LABELS, EnergyAccount
from rtsim.stages.device.exchange import DeviceTorque, TorqueCommand
from rtsim.stages.device.forward import ForwardStep
from rtsim.stages.device.misaligned import joint_of, with_straps
from streams.codec import FieldLayout
from streams.messages import Session
from streams.receiving.ring import ReceivedFrame
from tests.rtsim.device.straight import IDEAL, StraightPort

N_ARM, N_KICK, N_TICK, N_TRY = 3, 20, 200, 8
CONFIGS = ("ankle", "leg_stance", "leg_swing", "knee_brace")
STRONG = replace(IDEAL, actuator=replace(IDEAL.actuator, torque_max_Nm=1e3))


class Loop:
    """A shipped config's limb in the loop with the ideal device, without sockets, what is prescribed at rest.

    Attributes
    ----------
    angles, speeds, works : at each tick of the last run, of the device's coordinate and the device
    energies, stored : likewise, of the model less what generators did, and in springs on coordinates
    """

    def __init__(self, name: str, misalignment: MisalignmentSpec | None = None) -> None:
        allow_compilation()
        self.spec = replace(load_toml(find_config(name, "hil"), HilSpec), misalignment=misalignment)
        model = at_rest(load_model(self.spec.model))
        self.joint = joint_of(model, self.spec)
        model = with_device(with_straps(model, self.spec), self.spec.coordinate)
        period_ms = 1e3 / self.spec.exchange.rate_hz
        self.limb = Simulator(build(model), replace(model.simulation, step_ms=0.5 * period_ms))
        self.damping = sum(s.damping or 0.0 for s in model.springs if s.coordinate == self.spec.coordinate)
        springs = self.limb.model.forces.springs
        self.q, self.dof = int(springs.coordinate[-1]), int(springs.dof[-1])
        self.start = self.limb.q.copy(), self.limb.v.copy()

    def run(self, control: Controller, kick: float, drift_max_J: float = 100.0) -> None:
        """Some ticks, armed, with a kick [rad/s], which no force gave."""
        limits = replace(
            self.spec.limits, torque_max_Nm=1e3, rate_max_Nm_s=1e6, power_max_W=1e6, ramp_s=1e-3,
            angle_deg=(-360.0, 360.0), speed_max_deg_s=1e5, measured_max_Nm=1e3, energy_max_J=1e3,
            drift_max_J=drift_max_J,
        )  # fmt: skip
        spec = replace(self.spec, controller=control, limits=limits, device="ideal_orthosis")
        spec = replace(spec, exchange=replace(spec.exchange, valid_for_ms=1000.0))
        self.exchange = x = DeviceExchange(spec, StraightPort(STRONG), "0123456789abcdef", self.joint)
        s = self.limb
        s.q[:], s.v[:], s.n_step = *self.start, 0
        s.settle()
        torque, command = DeviceTorque(x, s), TorqueCommand(x, s)
        self.energy = EnergyAccount(x, s)
        forward = ForwardStep(s, spec.exchange.rate_hz)
        for stage in (torque, command, self.energy):
            stage.reset()
        session = Session(session="0" * 16, stream="markers", t_start=0, rate=1.0, fields=())
        self.frame = frame = ReceivedFrame(session, FieldLayout(session))
        self.angles, self.speeds, self.works, self.energies, self.stored = [], [], [], [], []
        springs = s.model.forces.springs
        for k in range(N_KICK + N_TICK):
            if k == N_ARM:
                x.arming.arm("asked")
            if k == N_KICK:
                s.v[self.dof] += kick
            x.collect()
            x.begin_tick(0)
            self.angles.append(float(s.q[self.q]))
            self.speeds.append(float(s.v[self.dof]))
            self.works.append(self.energy.balance.work[0])
            self.energies.append(self.energy.balance.energy - self.energy.balance.work[1])
            self.stored.append(0.5 * float(springs.stiffness @ (s.q[springs.coordinate] - springs.rest) ** 2))
            for stage in (torque, forward, self.energy, command):
                assert not stage.run(frame).failure


def at_rest(spec: ModelSpec) -> ModelSpec:
    """Return the model whose prescribed coordinates stay where they start."""
    rows = [replace(c, sine=(0.0, 1.0, 0.0, c.sine[3])) for c in spec.couplers]
    return replace(spec, couplers=tuple(rows))


@pytest.fixture(scope="module")
def loops() -> dict[str, Loop]:
    """Each limb, built when it is first asked for."""
    return {}


@pytest.mark.parametrize("name", CONFIGS)
def test_the_device_never_gives_more_than_the_damper_takes(loops: dict[str, Loop], name: str) -> None:
    """Protects whoever wears it: over the declared ranges the work of held springs, and what they store, is
    within that of the joint's damper, on the whole limb with weight, contacts, generators, ligaments."""
    loop = loops.setdefault(name, Loop(name))
    of = loop.spec.controller.ranges
    ranges = of["stiffness_N_m_rad"], of["damping_N_m_s_rad"]
    rng, start = np.random.default_rng(len(name)), loop.start[0][loop.q]

    def excess(stiffness: float, damping: float, kick: float) -> float:
        loop.run(Controller(math.degrees(start), stiffness, damping), kick)
        stored = 0.5 * stiffness * (np.array(loop.angles) - start) ** 2
        lost = np.array(loop.speeds) ** 2 / loop.spec.exchange.rate_hz
        taken = loop.damping * np.concatenate([[0.0], np.cumsum(0.5 * (lost[1:] + lost[:-1]))])
        assert np.ptp(loop.angles) > 0.01
        return float((np.array(loop.works) + stored - taken).max())

    for k in range(N_TRY):
        most = (1.0, 1.0) if k == 0 else rng.random(2)  # the ends of the ranges first
        stiffness, damping = (np.interp(m, (0.0, 1.0), r) for m, r in zip(most, ranges, strict=True))
        assert excess(float(stiffness), float(damping), rng.uniform(-3.0, 3.0)) <= 1e-9
        assert loop.exchange.arming.state == "armed"
    stiffest = loop.damping * loop.spec.exchange.rate_hz / 1.5
    assert excess(1.5 * stiffest, 0.0, 2.0) > 1e-3  # the limit is no wider than it must be


def test_a_misaligned_device_gives_no_more_either() -> None:
    """Protects the limb from a device beside its joint: turn, torque, straps, and its limit as derived."""
    beside = MisalignmentSpec((40.0, -30.0, 0.0), (0.0, -200.0, 0.0), 2000.0)
    loop = Loop("leg_swing", beside)
    joint, rate, wide = loop.joint, loop.spec.exchange.rate_hz, math.radians(70.0)
    assert joint is not None
    worst, start = joint.worst(-wide, wide), float(loop.start[0][loop.q])
    for kick, share in ((-3.0, 1.0), (5.0, 0.02)):
        # all of the damper, or little, so that the leg swings; torque is the stiffness by the angle at most
        stiffness = share * loop.damping * rate / 1.5 / (worst.ratio**2 + worst.slope * 2.0 * wide)
        zero = joint.angle(start)
        loop.run(Controller(math.degrees(zero), stiffness, 0.0), kick)
        assert np.abs(loop.angles).max() < wide
        turned = np.array([joint.angle(angle) for angle in loop.angles])
        lost = np.array(loop.speeds) ** 2 / rate
        taken = loop.damping * np.concatenate([[0.0], np.cumsum(0.5 * (lost[1:] + lost[:-1]))])
        assert (np.array(loop.works) + 0.5 * stiffness * (turned - zero) ** 2 <= taken + 1e-9).all()
        assert np.ptp(turned - np.array(loop.angles)) > (0.02 if share < 1.0 else 0.0)
        assert abs(loop.energy.balance.work[0]) > 0.01


def test_a_hanging_leg_never_has_more_than_its_kick(loops: dict[str, Loop]) -> None:
    """Protects whoever wears it: motion, weight, all springs, less what generators do, never grow in sum."""
    loop = loops.setdefault("leg_swing", Loop("leg_swing"))
    of, rng, start = loop.spec.controller.ranges, np.random.default_rng(4), loop.start[0][loop.q]
    for _ in range(N_TRY):
        stiffness, damping = (rng.uniform(*of[name]) for name in ("stiffness_N_m_rad", "damping_N_m_s_rad"))
        loop.run(Controller(math.degrees(start), stiffness, damping), rng.uniform(-3.0, 3.0))
        held = 0.5 * stiffness * (np.array(loop.angles) - start) ** 2
        total = (np.array(loop.energies) + loop.stored + held)[N_KICK + 1 :]
        assert np.ptp(loop.energies[N_KICK + 1 :]) > 0.1
        assert (total <= total[0] + 1e-3).all()
        assert total[-1] < total[0] - 0.01


def test_the_shipped_loops_are_within_the_limit() -> None:
    """Protects the shipped configs: each is let through with its device, ten times its stiffness is not."""
    for name in CONFIGS:
        spec = load_toml(find_config(name, "hil"), HilSpec)
        parts_of(spec)
        low, high = spec.controller.ranges["stiffness_N_m_rad"]
        stiff = {**spec.controller.ranges, "stiffness_N_m_rad": (low, 10.0 * high)}
        with pytest.raises(Exception, match="stiffness_N_m_rad of at most"):
            parts_of(replace(spec, controller=replace(spec.controller, ranges=stiff)))


def test_energy_that_comes_from_nowhere_ends_torque(loops: dict[str, Loop]) -> None:
    """Protects from a simulation gone wrong: speed that no force gave latches with its reason, and so does a
    state that is no number; what forces do does not count."""
    loop = loops.setdefault("leg_swing", Loop("leg_swing"))
    calm = Controller(40.0, 5.0, 0.1)
    loop.run(calm, 0.0, 0.1)
    assert loop.exchange.arming.state == "armed"
    work = dict(zip(LABELS[1:-1], loop.energy.balance.work, strict=True))
    assert min(abs(work["generators"]), abs(work["device"])) > 0.02
    assert (work["muscles"], work["prescribed"]) == (0.0, 0.0)
    loop.run(calm, 5.0, 0.1)
    assert "energy balance of the model has an error of" in loop.exchange.arming.reason
    assert loop.exchange.arming.state == "fault"
    assert loop.exchange.arming.n_fault == 1
    assert "has an error of" in loop.energy.wrong()  # and speaks against arming again
    loop.limb.v[:] = np.nan
    loop.energy.run(loop.frame)
    assert "not a finite number" in loop.energy.wrong()
