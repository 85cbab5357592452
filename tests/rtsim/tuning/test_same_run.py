"""The running model must be that of the config by which it is tuned, before it gets any command."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.errors import ConfigError
from rtsim.quantity import Fields, Quantity
from rtsim.tuning.live import LiveRuns
from rtsim.tuning.same_run import check_same_run
from streams.clock import now_ns
from streams.control.commands import ControlServer
from streams.messages import Command, Result, Session
from streams.publisher import Publisher

LOCAL, HERE = "tcp://127.0.0.1:0", "tcp://127.0.0.1:5561"
NEEDED = (("device_arming", ""), ("device_parameters", "x"), ("device_commands", "ankle"))
FORCES = ("prescribed_forces", "knee_forwards")
GUARD_S = 120.0


def config(name: str) -> HilSpec:
    """A shipped config."""
    return load_toml(find_config(name, "hil"), HilSpec)


def published(spec: HilSpec | None, named: Sequence[tuple[str, str]] = (*NEEDED, FORCES)) -> Fields:
    """Fields of the results of a run of a config, None = of a run without a device."""
    rows = [Quantity(name, np.zeros(1), "", (label,) if label else ()) for name, label in named]
    meta = {} if spec is None else {"config": spec.name, "device": {"settings": spec.settings}}
    return Fields(rows, 100.0, 0, meta)


def session_of(spec: HilSpec | None, **changes: Any) -> Session:
    """The descriptor of such results."""
    return published(spec, **changes).session


@contextmanager
def running(fields: Fields) -> Iterator[tuple[str, str, list[str]]]:
    """A run that publishes: the addresses of its results and for commands, and the commands that came."""
    came: list[str] = []
    over = threading.Event()

    def handler(command: Command) -> tuple[bool, str]:
        came.append(command.name)
        return True, "done"

    def publish(publisher: Publisher) -> None:
        publisher.announce(fields.session)
        seq = 0
        while not over.wait(0.01):
            now = now_ns()
            publisher.send(Result(
                session=fields.session.session, seq=seq, time=0.01 * seq, t_capture=now, t_received=now,
                t_solved=now, status=0, iterations=0, residual=0.0, data=fields.data(), t_published=now,
            ))  # fmt: skip
            publisher.service()
            seq += 1

    with Publisher(LOCAL) as publisher, ControlServer(LOCAL, handler, ("save", "switch", "set")) as server:
        sender = threading.Thread(target=publish, args=(publisher,), name="sender")
        sender.start()
        try:
            yield publisher.address, server.address, came
        finally:
            over.set()
            sender.join(GUARD_S)


def test_a_run_of_another_config_gets_no_command() -> None:
    """Protects a person on the device: parameters of a run are not changed by another config's ranges."""
    with (
        running(published(config("ankle_spline"))) as (results, control, came),
        pytest.raises(ConfigError, match="the running model has name = ankle_spline, but the config ankle"),
        LiveRuns(config("ankle"), results, control, 0.0),
    ):
        pass
    assert came == []


def test_the_run_of_the_config_is_tuned_with_a_note_on_its_options() -> None:
    """Protects tuning itself: the right run is taken, and what its command line replaced is told."""
    spec = config("ankle")
    slower = replace(spec, exchange=replace(spec.exchange, rate_hz=250.0))
    with running(published(slower)) as (results, control, came):
        with LiveRuns(spec, results, control, 0.0) as live:
            assert live.notes == [
                "the run was started with exchange.rate_hz = 250.0 in place of 500.0 of the config"
            ]
        assert came == ["save", "switch"]
    assert check_same_run(spec, session_of(spec), HERE) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"coordinate": "knee"}, "coordinate = knee, but the config ankle has ankle"),
        ({"limits": {"torque_max_Nm": 10.0}}, "limits.torque_max_Nm = 10.0, but the config ankle has 20.0"),
        ({"controller": {"stiffness_N_m_rad": 12.0}}, "controller.stiffness_N_m_rad = 12.0"),
        ({"controller": {"ranges": {"neutral_deg": (-5.0, 5.0)}}}, "controller.ranges.damping_N_m_s_rad"),
    ],
)
def test_other_settings_of_the_same_name_are_refused(changes: dict[str, Any], words: str) -> None:
    """Protects from a changed copy: same name, other controller, limits or joint."""
    spec = config("ankle")
    inner = {
        key: replace(getattr(spec, key), **value) if isinstance(value, dict) else value
        for key, value in changes.items()
    }
    with pytest.raises(ConfigError, match=words):
        check_same_run(spec, session_of(replace(spec, **inner)), HERE)


@pytest.mark.parametrize("lacking", range(4))
def test_a_field_that_is_not_there_is_told_before_anything_is_set(lacking: int) -> None:
    """Protects a run whose results have no costs: that is known before its parameters are changed."""
    named = [*NEEDED, FORCES]
    name, _ = named.pop(lacking)
    with pytest.raises(ConfigError, match=f"no field '{name}'"):
        check_same_run(config("ankle"), session_of(config("ankle"), named=named), HERE)


def test_results_without_a_device_are_refused() -> None:
    """Protects whoever gives the address of an analysis: a sentence, not a traceback."""
    with pytest.raises(ConfigError, match="do not state the settings of a run with a device"):
        check_same_run(config("ankle"), session_of(None), HERE)
