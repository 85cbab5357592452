"""The running model must be that of the config by which it is tuned, before it gets any command."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
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
from tests.rtsim.live.rig import until

LOCAL, HERE = "tcp://127.0.0.1:0", "tcp://127.0.0.1:5561"
NEEDED = (("device_arming", ""), ("device_parameters", "x"), ("device_commands", "ankle"))
FORCES = ("prescribed_forces", "knee_forwards")
GUARD_S = 120.0
N_FRAMES = 20


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


class Turn:
    """A run that takes another one's place: its results, and the events that let it come and tell it."""

    def __init__(self, fields: Fields) -> None:
        self.fields, self.comes, self.here = fields, threading.Event(), threading.Event()

    def take_place(self, live: LiveRuns) -> None:
        """Let it come, and wait until its frames are waiting to be read."""
        self.comes.set()
        assert self.here.wait(GUARD_S)
        counters = live._subscriber.counters
        n_before = counters["received"]
        until(lambda: counters["received"] > n_before + N_FRAMES)


@contextmanager
def running(fields: Fields, then: Turn | None = None) -> Iterator[tuple[str, str, list[str]]]:
    """A run that publishes: the addresses of its results and for commands, and the commands that came.

    then : the run that takes its place on the same ports
    """
    came: list[str] = []
    over = threading.Event()

    def handler(command: Command) -> tuple[bool, str]:
        came.append(command.name)
        return True, "done"

    def publish(publisher: Publisher) -> None:
        now_runs = fields
        publisher.announce(fields.session)
        seq = 0
        while not over.wait(0.01):
            now = now_ns()
            if then is not None and then.comes.is_set() and now_runs is fields:
                publisher.end("the run ends")
                now_runs, seq = then.fields, 0
                publisher.announce(now_runs.session)
                then.here.set()
            publisher.send(Result(
                session=now_runs.session.session, seq=seq, time=0.01 * seq, t_capture=now, t_received=now,
                t_solved=now, status=0, iterations=0, residual=0.0, data=now_runs.data(), t_published=now,
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


ACTIONS: dict[str, Callable[[LiveRuns], Any]] = {
    "a setting": lambda live: live.cost({"stiffness_N_m_rad": 5.0}),
    "a disarmed trial": lambda live: live.cost(None),
    "the best": lambda live: live.mark_best({"stiffness_N_m_rad": 5.0}),
}


@pytest.mark.parametrize("action", ACTIONS)
def test_a_run_that_took_the_place_of_the_first_gets_no_command(action: str) -> None:
    """Protects a person on another device: while an operator types, the run may end and one of another config
    begin on the same ports; it gets no setting, no snapshot and, at the end, no parameters back."""
    turn = Turn(published(config("ankle_spline")))
    with running(published(config("ankle")), turn) as (results, control, came):
        with LiveRuns(config("ankle"), results, control, 0.0) as live:
            turn.take_place(live)
            with pytest.raises(ConfigError, match="the running model has name = ankle_spline"):
                ACTIONS[action](live)
        assert came == ["save"]


def test_at_the_end_another_run_gets_no_parameters_back() -> None:
    """Protects a person on another device from the parameters of a run that is gone."""
    turn = Turn(published(config("ankle_spline")))
    with running(published(config("ankle")), turn) as (results, control, came):
        with LiveRuns(config("ankle"), results, control, 0.0) as live:
            turn.take_place(live)
        assert came == ["save"]


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
