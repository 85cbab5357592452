"""The runs and devices under attack: shipped configs with a few changed numbers, and the times that they
declare.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.device_schema import DeviceSpec
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.files.toml_text import entries

ANY_PORT = "tcp://127.0.0.1:0"
FOLLOWS = 10
"""Ticks beyond those that may be missed, after which a device has to be as it is told (docs/hil.md)."""
BUSY_MS = 20.0
"""Time for which a computer that does other work stalls now and then [ms] (docs/hil.md)."""
RAMP_S = 0.2
WINDOW_MS = 1000.0
"""Over which angles and paces are compared; a clock with that of the window before (hil.md, worn.md)."""
WALK_MS = 700.0
"""Time in which something that is not a walk loses its confidence [ms] (docs/worn.md)."""
PORTS = {"results": ANY_PORT, "control": ANY_PORT, "device": ANY_PORT}
ENDURING = {"connect_s": 3600.0, "valid_for_ms": 60.0}
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "ankle": ("ankle", {"controller": {"neutral_deg": 12.0}, "exchange": ENDURING}),
    "swing": ("leg_swing", {"exchange": ENDURING}),
    "free": (
        "leg_swing", {"exchange": {**ENDURING, "mode": "free", "deadline_ms": 60.0}},
    ),
    "worn": ("worn_ankle", {
        "markers": {"damping_N_m_s_rad": 5.0},
        "exchange": {"connect_s": 3600.0},
        "controller": {"kind": "stiffness_damping", "neutral_deg": 35.0, "stiffness_N_m_rad": 10.0,
                       "damping_N_m_s_rad": 0.0, "ranges": {}},
        "limits": {"energy_max_J": 200.0},
    }),
    "spline": ("worn_ankle", {"exchange": {"connect_s": 3600.0}}),
}  # fmt: skip
"""Runs by name: the shipped config, and the keys that differ from it."""
QUIET = {"sensors": {"angle_noise_deg": 0.0, "speed_noise_deg_s": 0.0, "torque_noise_Nm": 0.0}}


def merged(table: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return a table overlaid by the entries of another one; a table of another `kind` replaces it."""
    found = dict(table)
    for key, value in other.items():
        before = found.get(key)
        same = (
            isinstance(value, dict)
            and isinstance(before, dict)
            and value.get("kind", before.get("kind")) == before.get("kind")
        )
        found[key] = merged(before, value) if same and isinstance(before, dict) else value
    return found


def written(folder: Path, kind: str, shipped: str, changed: dict[str, Any], name: str) -> Path:
    """Write a shipped config with changes to a file."""
    tables = tomllib.loads(Path(find_config(shipped, kind)).read_text(encoding="utf-8"))
    path = folder / f"{name}.toml"
    path.write_text("\n".join(entries(merged(tables, changed))) + "\n", encoding="utf-8")
    return path


def run_config(folder: Path, name: str, **changed: Any) -> Path:
    """Write the config of a run to be attacked, with free ports and a short ramp of arming."""
    shipped, own = RUNS[name]
    usual = {"ports": PORTS, "limits": {"ramp_s": RAMP_S}}
    return written(folder, "hil", shipped, merged(merged(usual, own), changed), name)


def device_config(folder: Path) -> Path:
    """Write the config of the simulated device, without noise."""
    return written(folder, "devices", "ankle_orthosis", QUIET, "quiet_orthosis")


class Declared(NamedTuple):
    """Longest times that torque may last after a fault that ends it [ms], by a run's config, without
    delays of a busy machine.
    """

    spec: HilSpec

    @property
    def tick(self) -> float:
        """The tick in which a fault is found, and the next."""
        return 2e3 / self.spec.exchange.rate_hz

    @property
    def silence(self) -> float:
        """A device that does not answer; in a free run, one that sends nothing."""
        x = self.spec.exchange
        if x.mode == "free":
            return x.deadline_ms + self.tick
        return (x.missed_most + 1) * max(x.deadline_ms, 1e3 / x.rate_hz) + self.tick

    @property
    def patience(self) -> float:
        """A device that is not in the state it is told to be in, or whose clock stands still."""
        x = self.spec.exchange
        free = x.deadline_ms + x.valid_for_ms if x.mode == "free" else 0.0
        return (x.missed_most + FOLLOWS) * 1e3 / x.rate_hz + free + self.tick

    @property
    def clock(self) -> float:
        """A clock that does not run like this computer's."""
        return 2.0 * WINDOW_MS + self.tick

    @property
    def tracking(self) -> float:
        """An actuator whose torque is not the commanded one."""
        return self.spec.limits.tracking_ms + self.tick

    @property
    def lie(self) -> float:
        """A sensor that differs from what the model or the markers show."""
        return WINDOW_MS + self.spec.limits.agreement_ms + self.tick

    @property
    def following(self) -> float:
        """An angle that follows the joint's wrongly: found by the motion of a second, and of the one
        before.
        """
        return 2.0 * WINDOW_MS + self.spec.limits.agreement_ms + self.tick

    @property
    def lost(self) -> float:
        """Markers that are lost; the device is informed every 50 ms."""
        assert self.spec.markers is not None
        return self.spec.markers.lost_ms + 50.0 + self.tick

    @property
    def person(self) -> float:
        """Markers that are not those of a walking person, or those of another person."""
        return self.lost + WINDOW_MS

    @property
    def walk(self) -> float:
        """An impossible walk, found by the spline."""
        return WALK_MS + self.tick

    @property
    def pace(self) -> float:
        """Markers at another pace than stated: found with the end of the second after the one it began in."""
        return 2.2 * WINDOW_MS + self.tick


def declared_by(path: Path) -> Declared:
    """Return the times that a run's config declares."""
    return Declared(load_toml(path, HilSpec))


def safe_state_ms(path: Path) -> float:
    """Return the duration of a device's safe state plus two of its ticks [ms]."""
    spec = load_toml(path, DeviceSpec)
    return spec.safe_state.lasts_ms + spec.safe_state.ramp_ms + 2e3 / spec.tick_hz
