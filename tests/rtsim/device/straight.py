"""A simulated device without process, clock and socket: it answers in the call that sends."""

from __future__ import annotations

from rtsim.config.load import check_record, load_toml, parse_toml
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.config.runs.device_schema import DeviceSpec
from rtsim.config.runs.hil_schema import DeviceLimits, Exchange, HilSpec
from rtsim.device.orthosis import Orthosis
from rtsim.device.watchdog import Watchdog
from streams.clock import now_ns
from streams.messages import Device, Output

LIMITS = DeviceLimits(
    torque_max_Nm=20.0, rate_max_Nm_s=1e5, power_max_W=1e4, angle_deg=(-60.0, 60.0), speed_max_deg_s=2000.0,
    measured_max_Nm=60.0, energy_max_J=1e3, tracking_Nm=5.0, tracking_ms=50.0, ramp_s=0.01,
)  # fmt: skip

LIMB = """
name = "limb"
source = "made up"
gravity_m_s2 = [0.0, 0.0, 0.0]
[[bodies]]
name = "foot"
joint = "hinge"
axis = "w"
coordinates = [{ name = "joint" }]
mass_kg = 1.0
inertia_kg_m2 = [0.01, 0.01, 0.01]
[[springs]]
name = "passive"
coordinate = "joint"
stiffness_N_m_rad = 0.0
damping_N_m_s_rad = 1.0
[simulation]
step_ms = 0.25
method = "rodas4p"
"""
IDEAL = load_toml(find_config("ideal_orthosis", "devices"), DeviceSpec)


def load_limb() -> ModelSpec:
    """Return the model above: a hinge without gravity."""
    return check_record(parse_toml(LIMB, "limb"), ModelSpec, "limb")


def plain_hil(rate_hz: float = 1000.0, limits: DeviceLimits = LIMITS, **changed) -> HilSpec:
    """Return a config of the limb below in lockstep, as fast as it goes."""
    exchange = Exchange(rate_hz=rate_hz, paced=False, valid_for_ms=1000.0, missed_most=2)
    return HilSpec(
        name="made_up", source="made up", model="limb", coordinate="joint", exchange=exchange, limits=limits,
        device="ideal_orthosis", **changed,
    )  # fmt: skip


class StraightPort:
    """The device in the same process.

    Attributes
    ----------
    outputs : all that was sent; silent : it answers no more; forge : changes a message before it goes
    """

    def __init__(self, spec: DeviceSpec) -> None:
        self.orthosis = Orthosis(spec)
        self.watchdog = Watchdog(spec.safe_state, self.orthosis.period_s)
        self.outputs: list[Output] = []
        self.taken: list[tuple[Device, int]] = []
        self.counters: dict[str, int] = {}
        self.decode_ns = self.encoded_ns = 0
        self.keeps = False
        self.silent = False
        self.forge = lambda message: message
        self._coming: list[Device] = []

    def hello(self) -> None:
        """Speak before the first output."""
        self._coming = [
            Device(session="", seq=0, t=0, angle=[0.0], speed=[0.0], torque=[0.0], state="disarmed")
        ]

    def send(self, output: Output) -> None:
        """One tick of the device."""
        self.outputs.append(output)
        o, w = self.orthosis, self.watchdog
        w.take(output, output.t_sent, o.actuator, o.angle)
        o.move(output.angle[0], output.speed[0])
        m = o.step(w, 1e-3 * output.tick_ms)
        message = Device(
            session=output.session, seq=output.seq, t=now_ns(), command=output.seq, angle=[m.angle],
            speed=[m.speed], torque=[m.torque], actuator=[m.actuator], state=w.state, fault=w.fault,
        )  # fmt: skip
        self._coming = [] if self.silent else [self.forge(message)]

    def receive(self) -> bool:
        """What it answered."""
        self.taken = [(message, now_ns()) for message in self._coming]
        self._coming = []
        return bool(self.taken)

    def poll(self, timeout_ms: int) -> bool:
        """Nothing comes later."""
        return bool(self._coming)

    def sentences(self) -> list[str]:
        """Nothing to tell."""
        return []
