"""The live loop: wait for a frame, solve it, publish it; once a second say how it goes."""

from __future__ import annotations

import gc
import math
import time
from collections import Counter, deque

from rtsim.live.budget import LabelBudget
from rtsim.live.latency import StageTimes
from rtsim.live.mailbox import Mailbox
from rtsim.live.sources import STREAM_OVER
from rtsim.methods.multibody import MultibodyEstimator
from rtsim.pipeline.pipeline import FrameResult, Pipeline
from rtsim.subjects.subject import Subject
from streams.account import Sentences, account, plain
from streams.clock import now_ns
from streams.messages import Command, Result, Status
from streams.publisher import Publisher
from streams.ring import Frame
from streams.subscriber import Subscriber

TELEMETRY_NS = 1_000_000_000
WAIT_S = 0.05
STALE_NS = 250_000_000
"""Without a frame for this long, and then again each time, a result flagged stale is published."""
LONGEST_PERIOD_NS = 1e18
"""Anything longer, as of a rate of 1e-300 Hz, is for ever."""
MOST_OF_DOORS = 32
"""Sentences on the content of sessions in one telemetry, so that they do not crowd out the others."""
LONGEST_METHOD = 64
"""So much of a method's name is told when there is none of that name [characters]."""
SWITCHES = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}


class LiveLoop:
    """Turns a marker stream into a result stream until it ends, `stop` is asked for, or the time is up."""

    def __init__(
        self, estimator: MultibodyEstimator, subject: Subject, publisher: Publisher, meta: dict
    ) -> None:
        self.estimator, self.subject, self.publisher, self.meta = estimator, subject, publisher, meta
        self.control_events: deque[str] = deque()  # sentences of the control server, if there is one
        self.times = StageTimes()
        self.counters: Counter[str] = Counter()
        self._mailbox = Mailbox()
        self._budget = LabelBudget()
        self._pipeline: Pipeline | None = None
        self._door_counters: Counter[str] = Counter()
        self._last: tuple[Frame, FrameResult] | None = None
        self._last_ns = 0
        self._seq = 0
        self._period_ns = 0
        self._reason = ""  # why the run is to end, once it is
        self._of_doors = Sentences(MOST_OF_DOORS)
        self._square_sum, self._rms_n = 0.0, 0
        self._began_ns = self._cpu_ns = 0

    def run(self, subscriber: Subscriber, duration_s: float = 0.0) -> str:
        """Serve the stream of `subscriber`; duration_s = 0 means until it ends. Returns why it is over."""
        self._began_ns, self._cpu_ns = now_ns(), time.process_time_ns()
        try:
            self._serve(subscriber, duration_s)
        finally:
            self._report(subscriber, final=True)
            self.publisher.end(self._reason or STREAM_OVER)
        return self._reason or STREAM_OVER

    def command(self, command: Command) -> tuple[bool, str]:
        """Answer a command (in the control server's thread); the loop obeys before the next frame."""
        if command.name == "status":
            return True, self._status_text()
        if command.name == "set_method":
            method = str(command.args.get("method", ""))
            if method not in self.estimator.methods:
                said = plain(method, LONGEST_METHOD)
                return False, f"No method {said!r}; this run offers {', '.join(self.estimator.methods)}."
            answer = f"The method is {method} from the next frame on."
        elif command.name == "set_downweighting":
            switch = SWITCHES.get(str(command.args.get("on", "")).lower())
            if switch is None:
                return False, "set_downweighting needs the argument on = true or false."
            answer = (
                f"Down-weighting of suspicious markers is {'on' if switch else 'off'} from the next frame on."
            )
        else:
            answer = "Stopping."
        self._mailbox.put(command.name, command)
        return True, answer

    def _serve(self, subscriber: Subscriber, duration_s: float) -> None:
        end_ns = now_ns() + int(1e9 * duration_s) if duration_s > 0.0 else None
        report_ns = now_ns() + TELEMETRY_NS
        while not (self._reason or subscriber.ended):
            frame = subscriber.wait(WAIT_S)
            self._obey()
            if frame is not None:
                self._solve(frame)
            elif self._last is not None and now_ns() - self._last_ns > STALE_NS:
                self._publish_stale()
            self.publisher.service()
            if now_ns() > report_ns:
                report_ns = now_ns() + TELEMETRY_NS
                self._report(subscriber)
                gc.collect(0)  # young objects only, the rest is frozen: microseconds
            if end_ns and now_ns() > end_ns:
                self._reason = "the time is up"

    def _solve(self, frame: Frame) -> None:
        known = self._pipeline is not None and self._pipeline.session is frame.session
        if not known and not self._follow(frame):
            return
        assert self._pipeline is not None
        result = self._pipeline.run(frame)
        status = result.status
        if self._period_ns and now_ns() - frame.t_received > self._period_ns:
            status |= Status.LATE
        t_published = self._publish(frame, result, status)
        self.times.add(frame.t_capture, frame.t_received, result.t_solved, t_published)
        self._count(status)
        self._last, self._last_ns = (frame, result), t_published

    def _follow(self, frame: Frame) -> bool:
        """Turn to the session of a frame, which another descriptor came before; whether that was granted.

        Descriptors are compared, not their ids, which a sender may use again for another content.
        """
        if self._pipeline is not None and self._pipeline.session == frame.session:
            self._pipeline.session = frame.session  # the same again, after others without frames
        elif self._budget.grants(frame.session, now_ns()):
            self.estimator.restart()
            self._begin(frame)
        else:
            self.counters["turned_away"] += 1
            self._of_doors.say("Sessions of very many labels begin too fast; frames of some were left out.")
            return False
        return True

    def _begin(self, frame: Frame) -> None:
        """Announce a result session for the marker session of a frame."""
        former, door = self._pipeline, None
        if former is not None and former.session == frame.session:
            door = former.door  # another method on the same markers
        elif former is not None:
            self._door_counters.update(former.door.counters)
            self._of_doors.say(*former.door.sentences)
        meta = {**self.meta, "method": self.estimator.method}
        self._pipeline = Pipeline(self.estimator, self.subject, frame.session, meta, now_ns(), door)
        rate = frame.session.rate
        self._period_ns = max(1, int(min(1e9 / rate, LONGEST_PERIOD_NS))) if rate > 0.0 else 0
        self._seq = 0
        self.publisher.announce(self._pipeline.fields.session)

    def _publish(self, frame: Frame, result: FrameResult, status: Status) -> int:
        assert self._pipeline is not None
        message = Result(
            session=self._pipeline.fields.session.session,
            seq=self._seq,
            time=frame.time,
            t_capture=frame.t_capture,
            t_received=frame.t_received,
            t_solved=result.t_solved,
            status=int(status),
            iterations=result.iterations,
            residual=result.residual,
            data=result.data,
            t_published=now_ns(),  # last: what follows is encoding and sending
        )
        self.publisher.send(message)
        self.times.add_publishing(now_ns() - message.t_published)
        self._seq += 1
        return message.t_published

    def _publish_stale(self) -> None:
        """Repeat the last result under the flag stale: whoever controls something must know it is old."""
        assert self._last is not None
        frame, result = self._last
        self._publish(frame, result, result.status | Status.STALE)
        self.counters["stale"] += 1
        self._last_ns = now_ns()

    def _count(self, status: Status) -> None:
        self.counters["published"] += 1
        for bit in (Status.LATE, Status.DEGRADED, Status.NOT_CONVERGED, Status.INVALID_INPUT):
            if status & bit:
                self.counters[str(bit.name).lower()] += 1
        rms = float(self.estimator.outputs.rms[0])
        if rms == rms and not status & Status.INVALID_INPUT:
            self._square_sum += rms * rms
            self._rms_n += 1

    def _obey(self) -> None:
        """Do what was commanded since the last frame."""
        for command in self._mailbox.take():
            if command.name == "stop":
                self._reason = "stopped"
            elif command.name == "set_downweighting":
                self.estimator.set_downweighting(SWITCHES[str(command.args["on"]).lower()])
            elif command.name == "set_method":
                self.estimator.switch(str(command.args["method"]))
                if self._last is not None:
                    self._begin(self._last[0])

    def _report(self, subscriber: Subscriber, final: bool = False) -> None:
        sentences = Sentences()
        for events in (subscriber.events, self.publisher.events, self.control_events):
            while events:
                sentences.say(events.popleft())
        if self._pipeline:
            self._of_doors.say(*self._pipeline.door.sentences)
            self._pipeline.door.sentences.clear()
        sentences.say(*self._of_doors.take())
        counters = Counter({**subscriber.counters, **self.counters, **self._door_counters})
        if self._pipeline:
            counters.update(self._pipeline.door.counters)
        gauges = self.times.gauges()
        gauges["final"] = float(final)
        wall_ns = now_ns() - self._began_ns
        gauges["cpu_percent"] = 100.0 * (time.process_time_ns() - self._cpu_ns) / max(wall_ns, 1)
        if self._rms_n:
            gauges["marker_rms_mm"] = 1e3 * math.sqrt(self._square_sum / self._rms_n)
        session = self._pipeline.fields.session.session if self._pipeline else ""
        self.publisher.send(account(session, counters, gauges, sentences))

    def _status_text(self) -> str:
        spent = self.times.stages["receive_to_publish"]
        p50 = f", receive to publish {spent.percentile_us(50.0):.0f} us (p50)" if spent.n else ""
        return (
            f"Method {self.estimator.method}, {self.counters['published']} frames published, "
            f"{self.counters['late']} late, {self.counters['degraded']} degraded{p50}."
        )
