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
from rtsim.tuning.offline import Controlled, OfflineRuns, Pool, RunRequest, set_at_once
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


def armed_at(arm_s: float | None) -> Controlled:
    """Return how a setting is applied to a run whose device is armed at a time [s], None = never."""

    def control(loop: Loop, setting: Mapping[str, float]) -> str:
        loop.stages[0].arm_s = arm_s  # type: ignore[attr-defined]
        return set_at_once(loop, setting)

    return control


@pytest.mark.parametrize("arm_s", [1.0, 1.3, 4.5])
def test_a_limb_that_is_armed_late_has_its_whole_cycles(spec: HilSpec, arm_s: float) -> None:
    """Protects a search: whenever the device was armed, costs count after its ramp, and the run lasts for
    them."""
    cost = OfflineRuns(spec, control=armed_at(arm_s)).cost(RunRequest(SETTING))
    assert cost.value == pytest.approx(OfflineRuns(spec).cost(RunRequest(SETTING)).value, rel=1e-3)


def test_a_device_that_is_never_armed_has_no_cost(spec: HilSpec) -> None:
    """Protects a search: the cost of no torque is not that of a setting."""
    cost = OfflineRuns(spec, control=armed_at(None)).cost(RunRequest(SETTING))
    assert np.isnan(cost.value)
    assert cost.why.startswith("the device was never armed")


def test_cycles_count_from_the_same_time_as_in_a_run_of_the_command(
    spec: HilSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects costs that are equal to the last bit: the tick in which every run arms is not a late one."""
    settled = []
    close = CycleCost._close
    monkeypatch.setattr(CycleCost, "_close", lambda c, t: (settled.append(c.t_settled), close(c, t))[1])
    OfflineRuns(spec).cost(RunRequest(SETTING))
    assert set(settled) == {spec.limits.ramp_s + tuning_of(spec).settle_s}


def test_a_late_arming_is_told_where_the_motion_leaves_no_whole_cycle(tmp_path: Path) -> None:
    """Protects whoever searches: what is short is the rest of the motion after the late arming."""
    cost = OfflineRuns(swing_of(tmp_path), control=armed_at(4.0)).cost(RunRequest({"neutral_deg": 20.0}))
    assert np.isnan(cost.value)
    assert "fewer than 1 whole cycles in 8 s, as long as its motion" in cost.why
    assert "the device was armed only after 4 s" in cost.why


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


def swing_of(folder: Path) -> HilSpec:
    """Return the shipped leg that swings, moved by a file of 8 s, with cycles of 3 s."""
    motion, k = folder / "walk.mot", np.arange(801)
    rows = np.column_stack([0.01 * k, 0.3 * np.sin(0.03 * k), 0.9 + 0.0 * k, 5.0 * np.sin(0.03 * k)])
    header = "walk\nversion=1\nnRows=801\nnColumns=4\ninDegrees=yes\nendheader\n"
    np.savetxt(motion, rows, "%.6f", header=f"{header}time pelvis_x pelvis_y pelvis_tilt", comments="")
    tables = msgspec.to_builtins(load_toml(find_config("leg_swing", "hil"), HilSpec))
    tuning = {"costs": [{"field": "device_commands"}], "cycle": {"period_s": 3.0}, "settle_s": 0.2}
    return msgspec.convert(tables | {"motion": str(motion), "tuning": tuning}, HilSpec)


def test_a_motion_shorter_than_the_longest_search_for_cycles_is_enough(tmp_path: Path) -> None:
    """Protects a limb that a file moves: a run ends with its motion, and has its cost if cycles fit in."""
    runs = OfflineRuns(swing_of(tmp_path))
    assert runs.spec.duration_s == pytest.approx(8.0)
    assert runs.cost(RunRequest({"neutral_deg": 20.0})).value > 0.0


def test_a_config_that_cannot_be_run_is_told_before_processes_start(spec: HilSpec) -> None:
    """Protects whoever searches on all processors: the mistake is one sentence, not a pool that broke."""
    moved = replace(spec, motion="tcp://127.0.0.1:5561")
    with pytest.raises(ConfigError, match="moved by the stream tcp:"), Pool(moved, 0, 2):
        pass
