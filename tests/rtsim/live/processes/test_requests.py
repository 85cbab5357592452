"""A child process is told the whole run: no field can be forgotten on the way."""

from __future__ import annotations

import msgspec
import pytest

from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.live.processes.requests import (
    EstimatorRequest,
    PlayerRequest,
    encoded,
    estimator_request,
    player_request,
)

TABLES = {
    "name": "mine", "source": "a b.c3d", "model": "knee_fdk", "method": "condyles",
    "methods": ["condyles", "zero"], "stages": ["kinematics", "rates", "usual"], "side": "left",
    "subject": "anna.toml", "ik_setup": "ik.xml", "static": "stand\udcff.c3d", "forces": "walker",
    "emg": "EMG*", "mass_kg": 1 / 3 + 70.0, "lab": "bmc", "measures": "anna.vsk",
    "measured": {"knee_width_mm": [104.0, 102.5]},
    "person": "Änna", "label_unnamed": True, "priority": "ordinary", "units": "mm,Nm", "up": "-Y",
    "duration_s": 0.1,
    "backlog": 3, "solver": {"max_iterations": 7}, "markers": {"downweight": False, "unknown_mm": 80.0},
    "uncertainty": {"rigid_part": 0.25}, "rates": {"kind": "savitzky_golay"},
    "plates": {"tare": [-0.25, 1 / 3], "borne_by": {"left": {"foot_l": 1.0}}},
    "recruitment": {"power": 3, "reserves": {"knee_r": 20.0}}, "fdk": {"dofs": ["medial"]},
    "foot": {"level": "plates"}, "chosen": ["skin=tight"], "options": {"knee_above": {"sign": -1.0}},
    "compare": None, "ports": {"results": "tcp://127.0.0.1:7001"},
}  # fmt: skip


@pytest.fixture(scope="module")
def run() -> RunConfig:
    return msgspec.convert({key: value for key, value in TABLES.items() if value is not None}, RunConfig)


def test_every_field_of_a_run_goes_over(run: RunConfig) -> None:
    """Protects new options: all fields of a run stand here with another value than their default."""
    assert TABLES.keys() == set(RunConfig.__struct_fields__)
    usual = RunConfig(name="usual")
    same = [name for name in TABLES if getattr(run, name) == getattr(usual, name)]
    assert same == ["compare"]  # that of `rtsim analyse`, which has no children
    request = EstimatorRequest(
        run=run, markers="tcp://127.0.0.1:5", wait_s=600.0, n_subscriber=2, notes=("a\nb",), anyway=True
    )
    message = encoded(request)
    assert b"\n" not in message
    assert estimator_request(message) == request


def test_every_field_of_what_is_played_goes_over(run: RunConfig) -> None:
    """Protects the part and the pace that a player is asked for."""
    request = PlayerRequest(
        run=run, speed=0.1, rate=33.3, loop=True, start_s=1 / 3, end_s=2.0, duration_s=3.0, wait_s=1.0
    )
    usual = PlayerRequest(run=RunConfig(name="usual"))
    assert [n for n in request.__struct_fields__ if getattr(request, n) == getattr(usual, n)] == []
    assert player_request(encoded(request)) == request


@pytest.mark.parametrize("message", [b"", b"{", b"[]", b'{"run": {}}', b"\xff", b"[" * 100_000])
def test_what_is_no_request_is_told(message: bytes) -> None:
    """Protects from a traceback in a child: a sentence says what was wrong."""
    with pytest.raises(ConfigError, match="--request: the request is invalid"):
        estimator_request(message)
