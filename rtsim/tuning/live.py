"""Measurement of the costs of settings in a running `rtsim hil`: each setting (values of the tuned
parameters) is sent to the run as a command, and its cost is computed from the results of the following
movement cycles.

The run itself keeps every parameter within controller.ranges and changes it along a ramp. When the tuning
ends, also by a fault or an interruption, the parameters return to their former values.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from rtsim.config.runs.hil_schema import HilSpec
from rtsim.config.runs.tuning_schema import LONGEST_CYCLE_S
from rtsim.device.arming import BY_COMMAND
from rtsim.device.requests import OF_RUN
from rtsim.device.tuning import OVER_S
from rtsim.errors import ModelError
from rtsim.stages.device.exchange import ARM_STATES
from rtsim.tuning.costs import CycleCost
from rtsim.tuning.offline import RunCost
from rtsim.tuning.problem import Setting, tuning_of
from rtsim.tuning.same_run import check_same_run
from streams.access.security import Security
from streams.control.commands import request
from streams.errors import StreamError
from streams.messages import Status
from streams.receiving.ring import ReceivedFrame
from streams.receiving.subscriber import Subscriber

BEFORE, BEST = "before_tuning", "best"
"""Snapshots of the run: its parameters before, and the best at the end."""
BACKLOG = 4096
SILENT_S, WAIT_S = 10.0, 0.05
"""Time without a frame after which the run counts as ended; longest single wait for a frame [s]."""
ANSWER_S = 2.0
"""Time that a command may take until results show its effect, in addition to ramps [s of the model's
time]."""
FRESH_S = 1.0
"""Time within which a run that goes on publishes a frame [s]; one without markers publishes none."""
BROKEN_MOST = 5
"""Largest number of cycles of one setting in which frames may be missing."""
SAME = 1e-9
"""Relative and absolute tolerance with which published parameters equal requested ones."""


class LiveError(ModelError):
    """Raised if the run cannot be tuned any more: because of a fault, silence, or a rejected command."""


class LiveRuns:
    """Measures the cost of settings in a running `rtsim hil`, by commands to it and from its results.

    Parameters
    ----------
    spec : config of the run; results, control : addresses of its results and for commands
    over_s : duration of the ramp of a change [s]; security : keys of an encrypted connection, None = none

    Attributes
    ----------
    notes : sentences on settings of the run that differ from the config because of options of its command

    Results of another config, or of this one with other settings, are a ConfigError before any command, and
    so they are if another run takes the place of the first one: a frame that comes later than all that were
    waiting is checked before each command, and at the end a run that was not checked gets none.
    """

    def __init__(
        self, spec: HilSpec, results: str, control: str, over_s: float, security: Security | None = None
    ) -> None:
        self.tuning, self.over_s = tuning_of(spec), over_s
        self.notes: list[str] = []
        self._spec, self._checked = spec, ""
        self._control, self._security = control, security
        self._longest_s = (self.tuning.cycles + BROKEN_MOST) * (self.tuning.cycle.period_s or LONGEST_CYCLE_S)
        self._reach_s = over_s + 2.0 * spec.limits.ramp_s + ANSWER_S
        self._subscriber = Subscriber(results, ("result",), backlog=BACKLOG, security=security)
        self._time = math.nan
        self._began = False

    def __enter__(self) -> LiveRuns:
        try:
            self._frame()
            self._ask("save", {"name": BEFORE})
        except BaseException:
            self._subscriber.close()  # as __exit__ is not called then
            raise
        self._began = True
        return self

    def __exit__(self, *error: object) -> None:
        try:
            with suppress(StreamError):  # a run that is gone has no parameters
                if self._began and self._goes_on():
                    self._request("switch", {"name": BEFORE, OVER_S: self.over_s})
        finally:
            self._subscriber.close()

    def costs(self, settings: Sequence[Setting]) -> Iterator[RunCost]:
        """Yield the costs of these settings in their order."""
        for setting in settings:
            yield self.cost(setting)

    def cost(self, setting: Setting | None) -> RunCost:
        """Measure the cost of a setting after the parameters have reached it along a ramp.

        setting : values of the parameters; None = zero torque: the device is disarmed for the measurement,
            and armed again after it
        """
        if setting is None:
            self._ask("disarm")
            found = self._measured("disarmed", {})
            self._ask("arm", {"after": BY_COMMAND})  # not if a person has ended torque, too
            return found
        self.change(setting)
        return self._measured("armed", setting)

    def change(self, setting: Setting) -> None:
        """Change the parameters of the running model to a setting, along a ramp."""
        self._ask("set", {**setting, OVER_S: self.over_s})

    def mark_best(self, setting: Setting) -> None:
        """Change the parameters of the running model to a setting, and store them in it as the snapshot
        `best`.
        """
        self.change(setting)
        self._ask("save", {"name": BEST})

    def _measured(self, state: str, setting: Setting) -> RunCost:
        """Measure the cost of a setting, beginning when the frames report the arming state `state` and the
        parameters of the setting, and transients have settled.

        LiveError if frames never report this state, or leave it.
        """
        until = self._time + self._reach_s
        collector: CycleCost | None = None
        session, latest = None, math.inf
        while collector is None or not collector.done:
            frame = self._frame()
            armed = ARM_STATES[int(np.ravel(frame.data["device_arming"])[0])]
            if armed != state or not acts(setting, frame):
                if armed == "fault" or collector is not None or frame.time > until:
                    raise LiveError(
                        f"the run is {armed}, but should be {state} with the settings of this trial: "
                        f"{self._status()}",
                        where="rtsim hil",
                        remedy="check the device, and arm it by `rtsim command arm`",
                    )  # fmt: skip
                continue
            if collector is None or frame.session is not session:  # at first, or where results begin anew
                t_settled = frame.time + self.tuning.settle_s
                session, collector = frame.session, CycleCost(self.tuning, frame.session.fields, t_settled)
                latest = collector.t_settled + self._longest_s
            collector.add(frame.time, frame.data)
            if collector.n_broken > BROKEN_MOST or frame.time > latest:
                raise LiveError(
                    f"only {len(collector.costs)} of {self.tuning.cycles} cycles are complete, and "
                    f"{collector.n_broken} cycles lack frames", where="rtsim hil",
                    remedy="check tuning.cycle, or lower exchange.frame_hz",
                )  # fmt: skip
        return RunCost(collector.cost)

    def _frame(self, stale: bool = False) -> ReceivedFrame:
        """Return the next frame of the results; LiveError if none comes, ConfigError if it is of a run of
        another config. stale : whether frames of a limb that stands count, too
        """
        until = time.monotonic() + SILENT_S
        while (frame := self._subscriber.wait(WAIT_S)) is None or (frame.status & Status.STALE and not stale):
            if time.monotonic() > until:
                raise LiveError(
                    f"no results for {SILENT_S:g} s", where=self._subscriber.address,
                    remedy="start the run with the device, armed: `rtsim hil CONFIG --arm`; or give "
                    "the address of its results with --results",
                )  # fmt: skip
        self._check(frame)
        return frame

    def _check(self, frame: ReceivedFrame) -> None:
        """Store the time of a frame; ConfigError if it is of a run of another config."""
        if frame.session.session != self._checked:
            self.notes = check_same_run(self._spec, frame.session, self._subscriber.address)
            self._checked = frame.session.session
        self._time = frame.time

    def _discard(self) -> None:
        """Discard all frames that are waiting; ConfigError if one is of a run of another config."""
        while (frame := self._subscriber.wait(0.0)) is not None:
            self._check(frame)

    def _goes_on(self) -> bool:
        """Return whether the newest results are those of the run that was checked."""
        while self._subscriber.wait(0.0) is not None:
            pass
        self._subscriber.wait(FRESH_S)
        session = self._subscriber.session
        return session is not None and session.session == self._checked and not self._subscriber.ended

    def _status(self) -> str:
        return self._request("status")[1]

    def _request(self, name: str, args: Mapping[str, Any] | None = None) -> tuple[bool, str]:
        return request(self._control, name, args, security=self._security, asked=OF_RUN)

    def _ask(self, name: str, args: Mapping[str, Any] | None = None) -> None:
        """Send a command to the run, after a check that it is still the same one, and wait for its answer;
        frames received before and meanwhile are discarded. LiveError if it is rejected or no frame comes;
        name, args : of the command
        """
        self._discard()
        self._frame(stale=True)
        ok, text = self._request(name, args)
        if not ok:
            raise LiveError(text, where=f"command {name}")
        self._discard()


def acts(setting: Setting, frame: ReceivedFrame) -> bool:
    """Return whether the parameters have reached the values of a setting, according to a published frame."""
    spec = next(field for field in frame.session.fields if field.name == "device_parameters")
    values = dict(zip(spec.labels, np.ravel(frame.data["device_parameters"]), strict=True))
    return all(
        math.isclose(values[name], value, rel_tol=SAME, abs_tol=SAME) for name, value in setting.items()
    )
