"""The loop: wait for a frame, pass it through the stages, publish; report its state once a second.

One loop for everything that runs in time: an input hands over frames (rtsim/live/inputs/inputs.py), stages
process them (rtsim/stages), and the loop itself does what all runs have in common: deadlines, stale frames,
commands, telemetry, counters and garbage collection. It does not know what a stage computes.
"""

from __future__ import annotations

import gc
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import Any, Protocol

from msgspec.structs import replace

from kernels.compiler.jit import n_compiled
from rtsim.files.gait.marks import MARK
from rtsim.live.exact.journal import RunJournal
from rtsim.live.inputs.inputs import Input
from rtsim.live.inputs.mailbox import Mailbox
from rtsim.live.latency import StageTimes
from rtsim.live.marks import Marks
from rtsim.live.processes.awake import processor_awake
from rtsim.live.processes.gc_control import gc_paused
from rtsim.live.processes.memory_growth import MemoryGrowth
from rtsim.live.processes.thread_priority import PrioritySharing, pinned, with_priority
from rtsim.live.result_session import FrameResult, ResultSession
from rtsim.stages.stage import Stage, StageCommand
from streams.account import LONGEST_NAME, Sentences, account, numbers, plain
from streams.clock import is_over, now_ns
from streams.messages import AnyMessage, Command, Result, Session, Status
from streams.receiving.ring import ReceivedFrame

TELEMETRY_NS = 1_000_000_000
MOST_WAITING = 32
"""Number of messages of the control server above which the telemetry is sent at once."""
STALE_NS = 250_000_000
"""Interval at which, while no frame comes, the last result is published again with the flag stale [ns]."""
MOST_OF_STAGES = 32
"""Largest number of the stages' messages in one telemetry, so that they leave room for others."""
INTERRUPTED = "the run was interrupted"
MAY_SLEEP = (
    "No processor can be kept awake for this run (on Linux it takes root, and a processor that no other run "
    "with --urgent keeps awake), so a time step may begin later by tens of microseconds."
)


class ResultSink(Protocol):
    """Interface of the outputs for the results of a run: a publisher, or a file."""

    @property
    def events(self) -> deque[str]: ...
    def announce(self, session: Session) -> None: ...
    def send(self, message: AnyMessage) -> None: ...
    def service(self) -> None: ...
    def end(self, reason: str) -> None: ...


class Loop:
    """Turns the frames of an input into a stream of results until it ends, or `stop` is requested.

    Parameters
    ----------
    source, stages, output : input of frames, computation on each frame, destination of the results
    meta : metadata of the run for the descriptors
    urgently : run at real-time priority on a processor that does not sleep, where the system permits it
    first : run with priority over ordinary programs, where the system permits it, while they get enough time
    takes_marks : whether events can be marked by command

    Attributes
    ----------
    failure : reason why the run could not continue; "" if nothing failed
    granted : whether real-time priority was granted
    orders : commands that it accepts
    journal : records what it receives, if a journal is kept
    release : function that is called first when the run ends, however it ends; it sends a device zero torque
    """

    def __init__(
        self,
        source: Input,
        stages: Sequence[Stage],
        output: ResultSink,
        meta: Mapping[str, Any] | None = None,
        urgently: bool = False,
        takes_marks: bool = False,
        first: bool = False,
    ) -> None:
        self.source, self.stages, self.output, self.urgently = source, stages, output, urgently
        self.control_events: deque[str] = deque()  # sentences of the control server, if there is one
        self.control_counters: Mapping[str, int] = {}  # and its counters
        self.times = StageTimes()
        self.counters: Counter[str] = Counter(late=0, collected=0, compiled=0)
        self.failure, self.granted, self.reason = "", False, ""
        self._marks = Marks(lambda: self._last, output.send)
        self.orders: dict[str, StageCommand] = {MARK: self._marks.order} if takes_marks else {}
        self.orders |= source.orders
        for stage in stages:
            self.orders |= stage.orders
        self.meta = {**(meta or {}), "commands": [*self.orders, "status", "stop"]}
        self.course: ResultSession | None = None
        self.journal: RunJournal | None = None
        self.release: Callable[[], None] = nothing_to_release
        self._mailbox = Mailbox()
        self._of_stages = Sentences(MOST_OF_STAGES)
        self._memory = MemoryGrowth()
        self._sharing: PrioritySharing | None = None
        self._first = first and not urgently
        # most stages publish the same for ever, and need not be asked a thousand times a second
        self._changing = [stage for stage in stages if type(stage).outdated is not Stage.outdated]
        self._last: Result | None = None
        self._last_ns = self._seq = self._period_ns = 0
        self._late = False
        self._began_ns = self._cpu_ns = 0

    @property
    def commands(self) -> tuple[str, ...]:
        """Names of the commands that the loop accepts."""
        return (*self.orders, "status", "stop")

    def run(self) -> str:
        """Process the frames of the input until it ends; return the reason of the end."""
        before = n_compiled()
        with (
            processor_awake(self.urgently) as awake,
            with_priority(self.urgently or self._first) as self.granted,
            gc_paused(),
            counting_collections(self.counters),
            self.source,
        ):
            self._began_ns, self._cpu_ns = now_ns(), time.process_time_ns()
            self._sharing = PrioritySharing() if self._first and self.granted else None
            if self.urgently and awake is None:
                self.control_events.append(MAY_SLEEP)
            try:
                # the loop alone: threads that read sockets, as the source's, must not wait for its processor
                with pinned(awake):
                    self._serve()
            finally:
                self.counters["compiled"] = n_compiled() - before
                self._finish(self.reason or INTERRUPTED)
        return self.reason

    def stop(self, reason: str = "stopped") -> None:
        """End the run before the next frame; from any thread or signal handler."""
        self.reason = self.reason or reason

    def command(self, command: Command) -> tuple[bool, str]:
        """Answer a command (called in the control server's thread); the loop executes it before the next
        frame.
        """
        order = self.orders.get(command.name)
        takes = order.takes if order else ()
        if not command.args.keys() <= set(takes):
            return False, not_taken(command, takes)
        if command.name == "status":
            return True, self._status_text()
        ok, answer, kind = True, "Stopping.", ""
        if order:
            (ok, answer), kind = order.answer(command.args), order.kind
        if ok:
            kind = self._marks.kind() if command.name == MARK else kind or command.name
            self._mailbox.put(kind, command)
        return ok, answer

    def begin(self, session: Session, anew: bool = True) -> None:
        """Switch to an input session and announce the result session that belongs to it.

        anew : whether it is a new input session; False = the same one continues after a command that changed
          the published fields
        """
        self.course = ResultSession(self.stages, session, self.meta, now_ns(), anew)
        self._period_ns = self.source.period_ns(session)
        self._seq = 0
        self.output.announce(self.course.fields.session)
        if self.journal is not None:
            self.journal.announced(self.course.fields.session)

    def _serve(self) -> None:
        reported_ns = now_ns()
        while not (self.reason or self.source.over):
            frame = self.source.wait(self._obey)
            if frame is not None and not self.failure:
                self._turn(frame)
            elif self._last is not None and is_over(self._last_ns, STALE_NS, now_ns()):
                self._publish_stale(self._last)
            self.output.service()
            if is_over(reported_ns, TELEMETRY_NS, now_ns()) or len(self.control_events) > MOST_WAITING:
                reported_ns = now_ns()
                self._report()
                n_collected = self.counters["collected"]
                self.source.rest()
                self.counters["collected"] = n_collected  # one of its own choosing is no disturbance
            if frame is not None:
                self.times.stages["turn"].add(now_ns() - frame.t_received)
        self.reason = self.reason or self.source.over

    def _finish(self, reason: str) -> None:
        """Release a device, publish the last telemetry, and end journal and results. Each step is carried out
        even if one before it fails; reason : why the run ends
        """
        with ExitStack() as steps:  # the last one pushed comes first
            steps.callback(self.output.end, reason)
            if self.journal is not None:
                steps.callback(self.journal.ended, reason)
            steps.callback(self._report, final=True)
            steps.callback(self.release)

    def _turn(self, frame: ReceivedFrame) -> None:
        """Pass one frame through the stages and publish its result."""
        frame.t_taken = frame.t_taken or now_ns()  # a replay has it from the journal
        course = self.course
        if course is None or course.session is not frame.session:
            if course is not None and course.session == frame.session:
                course.session = frame.session  # the same again, after others without frames
            else:
                self.begin(frame.session)
        if self._changing and any(stage.outdated for stage in self._changing):
            self.begin(frame.session, anew=False)
        course = self.course
        assert course is not None
        result = course.run(frame)
        if result.failure:
            self.failure = result.failure
            self.stop(result.failure)
        elif self._period_ns and result.t_solved - frame.t_received > self._period_ns:
            self._late = True
        is_published = result.told and not result.failure
        if is_published:
            self._publish(course, frame, result)
        # last of all: who waits for the frame need not wait for what is noted of it
        if self.journal is not None:
            n_awaited = sum(stage.n_awaited for stage in self.stages)
            self.journal.took(frame, self._last if is_published else None, n_awaited)
        self.times.add_solved(frame.t_capture, frame.t_received, result.t_solved)

    def _publish(self, course: ResultSession, frame: ReceivedFrame, result: FrameResult) -> None:
        status = result.status | Status.LATE if self._late else result.status
        message = course.message(frame, result, self._seq, status)
        self.output.send(message)
        t_published = message.t_published
        self.times.stages["publish"].add(now_ns() - t_published)
        self.times.add_published(frame.t_capture, frame.t_received, result.t_solved, t_published)
        self._seq += 1
        self._late = False
        self._last, self._last_ns = message, t_published
        self.counters["published"] += 1
        if status is not Status.OK:
            for bit in status:
                self.counters[str(bit.name).lower()] += 1

    def _publish_stale(self, last: Result) -> None:
        """Publish the last result again with the flag stale, because a controller must know that it is
        old.
        """
        assert self.course is not None
        status = last.status & ~int(Status.LATE) | int(Status.STALE)  # a repetition has no deadline
        self._last_ns = now_ns()
        session = self.course.fields.session.session
        if session == last.session:
            repeated = replace(last, seq=self._seq, t_published=self._last_ns, status=status)
            self.output.send(repeated)
            self._seq += 1
            self.counters["stale"] += 1
            if self.journal is not None:
                self.journal.repeated(repeated)

    def _obey(self) -> None:
        """Execute the commands received since the last frame."""
        for command in self._mailbox.take():
            if command.name == "stop":
                self.stop()
                continue
            if self.journal is not None:
                self.journal.commanded(command)
            order = self.orders[command.name]
            if order.apply(command.args) and self.course is not None:
                self.begin(self.course.session, anew=False)
            if order.told:
                self._report()

    def _report(self, final: bool = False) -> None:
        """Publish telemetry: counters, gauges and messages of input, stages and output; final : whether it is
        the run's last
        """
        sentences = Sentences()
        sentences.say(*self.source.sentences())
        for events in (self.output.events, self.control_events):
            while events:
                sentences.say(events.popleft())
        counters = Counter({**self.source.counters(), **self.counters, **self.control_counters})
        gauges = {"final": float(final), **self.times.gauges(), **self.source.gauges()}
        for stage in self.stages:
            counted, told = stage.collect()
            counters.update(numbers(counted, int, sentences))
            self._of_stages.say(*told)
            gauges |= stage.gauges()
        sentences.say(*self._of_stages.take())
        wall_ns = max(now_ns() - self._began_ns, 1)
        of_memory, grown = self._memory.look(1e-9 * wall_ns)
        sentences.say(*grown)
        gauges |= of_memory
        if self._sharing is not None:
            sentences.say(*self._sharing.look())
            gauges["has_priority"] = float(not self._sharing.lowered)
        gauges["cpu_percent"] = 100.0 * (time.process_time_ns() - self._cpu_ns) / wall_ns
        session = self.course.fields.session.session if self.course else ""
        self.output.send(account(session, counters, gauges, sentences))
        self.output.service()

    def _status_text(self) -> str:
        spent = self.times.stages["receive_to_publish"]
        p50 = (
            (
                ", median time from receiving a frame to publishing its results (receive to publish): "
                f"{spent.percentile_us(50.0):.0f} us"
            )
            if spent.n
            else ""
        )
        words = ["Holding"] if self.source.holds else [stage.status_text() for stage in self.stages]
        counted = [f"{self.counters[name]} {name}" for name in ("late", "degraded")]
        said = [*filter(None, words), f"{self.counters['published']} frames published", *counted]
        return f"{', '.join(said)}{p50}."


def nothing_to_release() -> None:
    """Do nothing: the run has no device."""


def not_taken(command: Command, takes: Sequence[str]) -> str:
    """Return the answer that rejects a command with an unknown argument; takes : names of the accepted
    arguments"""
    others = ", ".join(islice((plain(name, LONGEST_NAME) for name in command.args if name not in takes), 3))
    known = f"accepts only {', '.join(takes)}" if takes else "takes no arguments"
    return f"The command {command.name} {known}, not {others}."


@contextmanager
def counting_collections(counters: Counter[str]) -> Iterator[None]:
    """Within the `with` block, count every garbage collection in `counters`, as `collected`."""

    def count(phase: str, _: dict) -> None:
        counters["collected"] += phase == "start"

    gc.callbacks.append(count)
    try:
        yield
    finally:
        gc.callbacks.remove(count)
