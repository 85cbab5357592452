"""Costs in simulations without sockets: those of `rtsim hil` number for number, in one process or in two."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.errors import ConfigError
from rtsim.live.loop import Loop
from rtsim.tuning.costs import CycleCost
from rtsim.tuning.offline import OfflineRuns, Pool, RunRequest, set_at_once
from rtsim.tuning.problem import parameters_of, tuning_of
from streams.codec import decode
from streams.messages import Result, Session
from streams.recording.recorded import read_messages
from tests.rtsim.live.rig import ROOT

SETTING = {"neutral_deg": 4.0, "stiffness_N_m_rad": 22.0}
ANY = [f"--{name}-address=tcp://127.0.0.1:0" for name in ("results", "control", "port")]


@pytest.fixture(scope="module")
def spec() -> HilSpec:
    """Return the shipped run."""
    return load_toml(find_config("ankle", "hil"), HilSpec)


@pytest.mark.process
def test_a_cost_is_that_of_the_run_over_sockets(spec: HilSpec, tmp_path: Path) -> None:
    """Protects what is found offline: the same run of `rtsim hil`, recorded, has the same cost."""
    text = find_config("ankle", "hil").read_text(encoding="utf-8")
    text = text.replace("\nneutral_deg = 0.0", "\nneutral_deg = 4.0")
    text = text.replace("\nstiffness_N_m_rad = 30.0", "\nstiffness_N_m_rad = 22.0")
    config, recording = tmp_path / "ankle.toml", tmp_path / "run.mcap"
    config.write_text(text, encoding="utf-8")
    options = ["--fast", "--arm", "0", "--duration", "2.6", "--record", str(recording), *ANY]
    subprocess.run(
        [sys.executable, "-m", "rtsim.cli.main", "hil", str(config), *options],
        check=True, capture_output=True, timeout=120, cwd=ROOT,
    )  # fmt: skip
    messages = [decode([topic, payload]) for _, topic, payload in read_messages(recording)]
    session = next(m for m in messages if isinstance(m, Session))
    cost = CycleCost(tuning_of(spec), session.fields, spec.limits.ramp_s + tuning_of(spec).settle_s)
    for message in messages:
        if isinstance(message, Result):
            cost.add(message.time, message.data)
    assert cost.done
    assert OfflineRuns(spec).cost(RunRequest(SETTING)).value == cost.cost


def test_runs_repeat_and_their_noise_is_chosen(spec: HilSpec) -> None:
    """Protects searches that are gone on with: order does not matter, another repeat has other noise."""
    runs = OfflineRuns(spec, 2)
    one, zero, other = (
        runs.cost(asked).value for asked in (RunRequest(SETTING), RunRequest(None), RunRequest(SETTING, 1))
    )
    assert runs.cost(RunRequest(SETTING)).value == one
    assert other != one
    assert other == pytest.approx(one, rel=1e-2)
    assert zero != pytest.approx(one, rel=1e-2)


def test_a_fault_has_no_cost(spec: HilSpec) -> None:
    """Protects a search from the cost of a run that ended before its time."""
    tight = replace(spec, limits=replace(spec.limits, energy_max_J=0.2))
    cost = OfflineRuns(tight).cost(RunRequest({"neutral_deg": -5.0, "stiffness_N_m_rad": 40.0}))
    assert np.isnan(cost.value)
    assert "drives the limb" in cost.why


def test_a_stated_range_of_one_value_is_refused(spec: HilSpec) -> None:
    """Protects the engineer: a parameter that was given to be tuned is not left out in silence."""
    name, (low, high) = next(iter(spec.controller.ranges.items()))
    alone = replace(spec, tuning=replace(tuning_of(spec), parameters={name: (low, low)}))
    with pytest.raises(ConfigError, match=f"{name}: .*low < high"):
        parameters_of(alone)
    beside = replace(spec, tuning=replace(tuning_of(spec), parameters={name: (low, high)}))
    assert parameters_of(beside).names == (name,)


def test_ranges_of_the_shipped_run_are_within_the_controllers(spec: HilSpec) -> None:
    """Protects whoever wears it: nothing is tuned beyond what may be set; points are settings and back."""
    parameters = parameters_of(spec)
    for name, low, high in zip(parameters.names, parameters.low, parameters.high, strict=True):
        least, most = spec.controller.ranges[name]
        assert least <= low < high <= most
    point = np.array([0.25, 0.75])
    assert parameters.point(parameters.setting(point)) == pytest.approx(point)
    assert parameters.setting(np.array([-1.0, 2.0])) == {"neutral_deg": -5.0, "stiffness_N_m_rad": 40.0}


def test_a_setting_that_cannot_be_set_has_no_cost(spec: HilSpec) -> None:
    """Protects a comparison: the cost of other parameters is not told as that of a refused setting."""
    cost = OfflineRuns(spec).cost(RunRequest({"neutral_deg": 4.0, "stiffness_N_m_rad": 45.0}))
    assert np.isnan(cost.value)
    assert "stiffness_N_m_rad = 45.0 cannot be set; allowed: 0 to 40" in cost.why


@pytest.mark.parametrize("arm_s", [None, 1.0], ids=["never", "late"])
def test_costs_are_those_of_an_armed_device(spec: HilSpec, arm_s: float | None) -> None:
    """Protects a search: without full torque there is no cost, and of a limb that is armed late one after its
    ramp."""

    def control(loop: Loop, setting: Mapping[str, float]) -> str:
        loop.stages[0].arm_s = arm_s  # type: ignore[attr-defined]
        return set_at_once(loop, setting)

    cost = OfflineRuns(spec, control=control).cost(RunRequest(SETTING))
    if arm_s is None:
        assert np.isnan(cost.value)
        assert cost.why.startswith("the device was never armed")
    else:
        assert cost.value == pytest.approx(OfflineRuns(spec).cost(RunRequest(SETTING)).value, rel=1e-3)


def test_a_run_starts_without_the_torque_of_the_one_before(
    spec: HilSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects costs: a start in equilibrium does not depend on the setting that was tried before."""
    runs, seen = OfflineRuns(spec), list[float]()
    simulator = runs._simulator
    moment, reset = simulator.model.forces.springs.moment, simulator.reset
    monkeypatch.setattr(simulator, "reset", lambda: (seen.append(float(moment[-1])), reset()))
    moment[-1] = 12.0
    runs.cost(RunRequest(SETTING))
    assert moment[-1] != 0.0
    runs.cost(RunRequest(SETTING))
    assert seen == [0.0, 0.0]


def test_a_limb_that_a_stream_moves_is_refused(spec: HilSpec) -> None:
    """Protects a search: without the stream no setting is armed, and all cost the same."""
    with pytest.raises(ConfigError, match="moved by the stream tcp:"):
        OfflineRuns(replace(spec, motion="tcp://127.0.0.1:5561"))


def test_a_motion_shorter_than_the_longest_search_for_cycles_is_enough(tmp_path: Path) -> None:
    """Protects a limb that a file moves: a run ends with its motion, and has its cost if cycles fit in."""
    motion = tmp_path / "walk.mot"
    rows = [
        f"{0.01 * k:.2f} {0.3 * np.sin(0.03 * k):.6f} 0.9 {5.0 * np.sin(0.03 * k):.6f}" for k in range(801)
    ]
    header = "walk\nversion=1\nnRows=801\nnColumns=4\ninDegrees=yes\nendheader\n"
    motion.write_text(f"{header}time pelvis_x pelvis_y pelvis_tilt\n" + "\n".join(rows), encoding="utf-8")
    tables = msgspec.to_builtins(load_toml(find_config("leg_swing", "hil"), HilSpec))
    tuning = {"costs": [{"field": "device_commands"}], "cycle": {"period_s": 3.0}, "settle_s": 0.2}
    swing = msgspec.convert(tables | {"motion": str(motion), "tuning": tuning}, HilSpec)
    runs = OfflineRuns(swing)
    assert runs.spec.duration_s == pytest.approx(8.0)
    assert runs.cost(RunRequest({"neutral_deg": 20.0})).value > 0.0


def test_a_config_that_cannot_be_run_is_told_before_processes_start(spec: HilSpec) -> None:
    """Protects whoever searches on all processors: the mistake is one sentence, not a pool that broke."""
    moved = replace(spec, motion="tcp://127.0.0.1:5561")
    with pytest.raises(ConfigError, match="moved by the stream tcp:"), Pool(moved, 0, 2):
        pass
