"""Lab Streaming Layer: stamps of senders on several computers, and stamps that are not of liblsl's clock."""

from __future__ import annotations

import math

import numpy as np
import pytest

from streams.capture.lsl import sender_clock
from streams.capture.lsl.channels import LslChannel
from streams.capture.lsl.forces import LslForces
from streams.capture.lsl.inlet import LslSample
from streams.capture.lsl.sender_clock import PATIENCE_NS, SenderClock
from streams.capture.records import CaptureFrame, ClockPair
from streams.capture.system import parse_capture, systems
from streams.clock import now_ns
from tests.streams.capture.fake_lsl import FakeStream, put_on_network
from tests.streams.capture.relays import SECOND, until

AXES = ("X", "Y", "Z")
PARTS = ("Fx", "Fy", "Fz", "Mx", "My", "Mz")
AHEAD_S, BEHIND_S = 50.0, -3600.3
MS = 1_000_000


def seconds() -> float:
    return 1e-9 * now_ns()


class Laboratory:
    """Markers and plates of two computers, whose samples tell when they were taken: x of the marker, and the
    vertical force, are seconds since the beginning.

    stamp_ahead_s : how far the stamps of markers, and of plates, are ahead of our clock [s]
    """

    def __init__(self, stamp_ahead_s: tuple[float, float], **hosts: str) -> None:
        self.began_s, self.is_liblsl = seconds(), stamp_ahead_s == (AHEAD_S, BEHIND_S)
        self._forces_until_s = self.began_s
        self._ahead_s = stamp_ahead_s
        self.markers = FakeStream(
            "mk", [f"A_{axis}" for axis in AXES], hosts.get("markers", "A"), 100.0, AHEAD_S,
            next_sample=self._marker,
        )  # fmt: skip
        self.plates = FakeStream(
            "fp", [f"FP1_{part}" for part in PARTS], hosts.get("plates", "B"), 1000.0, BEHIND_S,
            next_sample=self._force,
        )  # fmt: skip

    def _marker(self) -> tuple[list[float], float]:
        now_s = seconds()
        return [1.0 + now_s - self.began_s, 1.0, 1.0], now_s + self._ahead_s[0]

    def _force(self) -> tuple[list[float], float] | None:
        if (now_s := seconds()) - self._forces_until_s < 1e-3:
            return None
        self._forces_until_s = now_s
        return [0.0, 0.0, now_s - self.began_s, 0.0, 0.0, 0.0], now_s + self._ahead_s[1]


def pairings(laboratory: Laboratory, n_wanted: int = 50) -> tuple[np.ndarray, list[str], dict[str, int]]:
    """Read the laboratory until so many force samples came. Return, of each of them, by how much its time
    after the frame that it came with differs from the truth [s]; sentences; counters.
    """
    connection = systems()["lsl"].open(parse_capture("lsl://mk?forces=fp"))
    off: list[float] = []

    def enough() -> bool:
        one = connection.read(0.01)
        assert laboratory.is_liblsl or not isinstance(one, ClockPair), "it does not apply to the stamps"
        if isinstance(one, CaptureFrame) and one.forces is not None:
            taken_s = one.positions[0, 0] - 1.0
            after_s = 1e-9 * (one.forces.stamps - one.stamp_ns)
            off.extend(after_s - (one.forces.force[0, :, 2] - taken_s))
            assert (np.diff(one.forces.stamps) > 0).all()
        return len(off) >= n_wanted

    try:
        until(enough, "samples of forces")
        return np.array(off), connection.sentences(), dict(connection.counters())
    finally:
        connection.close()


def test_plates_of_another_computer_are_on_the_clock_of_the_markers(monkeypatch):
    """Protects the pairing of forces and markers whose senders run on two computers: each clock of Lab
    Streaming Layer counts from its own computer's start.
    """
    laboratory = Laboratory((AHEAD_S, BEHIND_S))
    put_on_network(monkeypatch, laboratory.markers, laboratory.plates)
    off, _, _ = pairings(laboratory)
    assert np.abs(off).max() < 1e-3


@pytest.mark.parametrize("stamp_ahead_s", [(1.7e9, 1.7e9), (AHEAD_S, 1.7e9), (-20.0, -30.0)])
def test_stamps_of_any_clock_pair_forces_and_markers(monkeypatch, stamp_ahead_s):
    """Protects senders that push Unix time, or the time of a device, as stamps: their forces come, and are
    placed by the earliest arrivals instead of a clock that the stamps are not of.
    """
    monkeypatch.setattr(sender_clock, "PATIENCE_NS", 100 * MS)
    laboratory = Laboratory(stamp_ahead_s)
    laboratory.is_liblsl = stamp_ahead_s[0] == AHEAD_S
    put_on_network(monkeypatch, laboratory.markers, laboratory.plates)
    off, sentences, counters = pairings(laboratory)
    assert np.median(np.abs(off)) < 0.02
    assert any("time stamps of the stream fp of B" in sentence for sentence in sentences)
    assert set(counters.values()) == {0}


@pytest.mark.parametrize("stamp", [math.nan, -1.0, 0.0, 1.7e12])
def test_samples_with_impossible_stamps_are_counted_and_told(monkeypatch, stamp):
    """Protects the user from forces that are missing in silence, and from markers that go by their arrival
    unannounced.
    """
    markers = FakeStream("mk", [f"A_{axis}" for axis in AXES], rate=100.0)
    plates = FakeStream("fp", [f"FP1_{part}" for part in PARTS], rate=1000.0)
    put_on_network(monkeypatch, markers, plates)
    connection = systems()["lsl"].open(parse_capture("lsl://mk?forces=fp"))
    plates.sent += [([0.0] * 6, stamp)] * 5
    markers.sent += [([1.0] * 3, stamp)] * 2
    frames = [connection.read(0.0), connection.read(0.0)]
    connection.close()
    assert [frame.stamp_ns for frame in frames] == [None, None]
    counters = connection.counters()
    assert (counters["samples_without_stamp"], counters["force_samples_without_stamp"]) == (2, 5)
    told = [sentence for sentence in connection.sentences() if "impossible" in sentence]
    assert told == [
        f"Time stamps of the stream {name} of A are impossible (the first one is {stamp:g} s, possible are 0 "
        "to 9e+09 s): such samples go by their arrival, and are left out if they are of force plates."
        for name in ("mk", "fp")
    ]


class ReadStream:
    """A stream of one plate, whose samples were put into `samples`; what LslForces needs of an inlet."""

    def __init__(self, host: str) -> None:
        self.words, self.rate = "fp of B", 1000.0
        self.channels = [LslChannel(f"FP1_{part}") for part in PARTS]
        self.clock = SenderClock(host)
        self.samples: list[LslSample] = []

    def put(self, stamp_ns: int | None, arrived_ns: int) -> None:
        """Put a sample, whose clock learns from it as that of an inlet does."""
        self.samples.append(LslSample(np.zeros(6), stamp_ns, arrived_ns))
        if stamp_ns is not None:
            self.clock.take(stamp_ns, arrived_ns)

    def pull(self, _timeout_s: float) -> list[LslSample]:
        taken, self.samples = self.samples[:65], self.samples[65:]
        return taken

    def notices(self) -> list[str]:
        return []


def compared(clock: SenderClock, ahead_ns: int, local_ns: int) -> None:
    """Tell a clock that it is ahead of ours by so much."""
    clock.compare(ClockPair(local_ns + ahead_ns, local_ns))


def test_samples_of_plates_wait_until_both_clocks_are_known():
    """Protects the first seconds: forces are not paired by clocks that nobody has compared yet, and none is
    lost when they are.
    """
    plates, markers = ReadStream("B"), SenderClock("A")
    forces = LslForces(plates, markers)
    for k in range(10):
        plates.put(SECOND + k * MS, 100 * SECOND + k * MS)
    forces.pull()
    assert forces.ready() is None
    compared(markers, 7 * SECOND, 100 * SECOND)
    markers.take(107 * SECOND, 100 * SECOND)
    assert forces.ready() is None
    compared(plates.clock, -99 * SECOND, 100 * SECOND)
    assert forces.ready().stamps.tolist() == [107 * SECOND + k * MS for k in range(10)]
    assert forces.ready() is None


def test_samples_that_wait_in_vain_are_counted_and_told():
    """Protects memory, and the user from forces that are missing in silence: markers without any stamp."""
    plates = ReadStream("B")
    forces = LslForces(plates, SenderClock("A"))
    for k in range(60):
        plates.put(SECOND + k * SECOND // 10, 100 * SECOND + k * SECOND // 10)
        forces.pull()
        assert forces.ready() is None
    assert forces.counters() == {"force_samples_without_clock": 9}
    assert [sentence for sentence in forces.sentences() if "waited in vain" in sentence] == [
        "Samples of the force plates fp of B are left out that waited in vain for the clock of their sender "
        "or of the markers (force_samples_without_clock)."
    ]


@pytest.mark.parametrize("off_ms", [0, 3, 40])
def test_stamps_of_one_computer_are_not_converted(off_ms):
    """Protects the pairing where markers and plates come from one computer: it is exact, however much the
    comparisons of the two streams differ on a bad network.
    """
    plates, markers = ReadStream("A"), SenderClock("A")
    forces = LslForces(plates, markers)
    compared(markers, 7 * SECOND, 100 * SECOND)
    compared(plates.clock, 7 * SECOND + off_ms * MS, 100 * SECOND)
    markers.take(107 * SECOND, 100 * SECOND)
    plates.put(107 * SECOND, 100 * SECOND)
    plates.put(107 * SECOND + MS, 100 * SECOND)
    forces.pull()
    assert forces.ready().stamps.tolist() == [107 * SECOND, 107 * SECOND + MS]


def test_two_computers_of_one_name_are_two_clocks():
    """Protects laboratories whose computers were set up as copies: their names do not make one clock."""
    plates, markers = ReadStream("A"), SenderClock("A")
    forces = LslForces(plates, markers)
    compared(markers, 7 * SECOND, 100 * SECOND)
    compared(plates.clock, 8 * SECOND, 100 * SECOND)
    markers.take(107 * SECOND, 100 * SECOND)
    plates.put(108 * SECOND, 100 * SECOND)
    forces.pull()
    assert forces.ready().stamps.tolist() == [107 * SECOND]


def test_a_sample_never_goes_before_the_one_handed_on():
    """Protects order where a better comparison moves the plates' clock back by more than a sample lasts."""
    plates, markers = ReadStream("B"), SenderClock("A")
    forces = LslForces(plates, markers)
    compared(markers, 0, 100 * SECOND)
    markers.take(100 * SECOND, 100 * SECOND)
    compared(plates.clock, 0, 100 * SECOND)
    plates.put(100 * SECOND, 100 * SECOND)
    forces.pull()
    first = forces.ready().stamps.tolist()
    compared(plates.clock, 5 * MS, 100 * SECOND + 600 * MS)
    compared(plates.clock, 5 * MS, 101 * SECOND + 200 * MS)
    compared(plates.clock, 5 * MS, 101 * SECOND + 800 * MS)
    plates.put(100 * SECOND + MS, 100 * SECOND + MS)
    plates.put(100 * SECOND + 2 * MS, 100 * SECOND + 2 * MS)
    forces.pull()
    assert forces.ready().stamps.tolist() == [first[0] + 1, first[0] + 2]


def test_a_clock_that_nobody_can_compare_goes_by_arrivals():
    """Protects forces where a firewall lets samples through and comparisons not: after three seconds the
    stamps are mapped by their earliest arrivals, which is told once.
    """
    clock = SenderClock("B")
    clock.take(SECOND, 100 * SECOND + 20 * MS)
    clock.take(SECOND + 10 * MS, 100 * SECOND + 11 * MS)
    assert not clock.settled
    assert clock.notice() == ""
    clock.take(SECOND + PATIENCE_NS, 100 * SECOND + PATIENCE_NS + 20 * MS)
    assert clock.settled
    assert clock.local_ns(2 * SECOND) == 101 * SECOND + MS
    assert "could not be compared" in clock.notice()
    assert clock.notice() == ""
    compared(clock, -99 * SECOND, 104 * SECOND)
    clock.take(5 * SECOND, 104 * SECOND + 3 * MS)
    assert clock.local_ns(5 * SECOND) == 104 * SECOND
    assert clock.pair == ClockPair(5 * SECOND, 104 * SECOND)


def test_stamps_of_unix_time_are_mapped_by_arrivals_and_told():
    """Protects t_capture from comparisons of a clock that the stamps are not of, and tells their distance."""
    clock, unix_ns = SenderClock("B"), 1_700_000_000 * SECOND
    compared(clock, -99 * SECOND, 100 * SECOND)
    clock.take(unix_ns, 100 * SECOND + 3 * MS)
    assert not clock.settled
    clock.take(unix_ns + PATIENCE_NS, 100 * SECOND + 5 * MS + PATIENCE_NS)
    assert clock.settled
    assert clock.pair is None
    assert clock.local_ns(unix_ns + SECOND) == 101 * SECOND + 3 * MS
    assert clock.notice().startswith(
        "are not of Lab Streaming Layer's clock, they are 1699999999 s off (does the sender push Unix time?)"
    )
    assert clock.notice() == ""


def test_stamps_that_go_back_are_used_again_at_once():
    """Protects forces of a sender whose Unix time is set back, by an hour as for winter: they go on, on the
    clock that it has then; repeated and overtaken samples are counted.
    """
    plates, markers = ReadStream("B"), SenderClock("A")
    forces = LslForces(plates, markers)
    compared(markers, 0, 100 * SECOND)
    markers.take(100 * SECOND, 100 * SECOND)
    hour_ns, handed = 3600 * SECOND, []
    for k in range(10_000):
        ago_ns = hour_ns if k >= 5000 else 0
        plates.put(10 * hour_ns + k * MS - ago_ns, 100 * SECOND + k * MS)
        if k == 4000:
            plates.put(10 * hour_ns + (k - 2) * MS, 100 * SECOND + k * MS)
        forces.pull()
        ready = forces.ready()
        handed += [] if ready is None else ready.stamps.tolist()
    assert handed == [100 * SECOND + k * MS for k in range(10_000)]
    assert forces.counters() == {"force_samples_out_of_order": 1}


def test_samples_before_and_after_a_clock_was_set_back_are_not_mixed():
    """Protects the times of samples that arrive together with those of a clock that was set back between."""
    plates, markers = ReadStream("B"), SenderClock("A")
    forces = LslForces(plates, markers)
    compared(markers, 0, 100 * SECOND)
    markers.take(100 * SECOND, 100 * SECOND)
    plates.put(7000 * SECOND, 100 * SECOND)
    plates.put(3400 * SECOND, 100 * SECOND + MS)
    forces.pull()
    plates.put(3400 * SECOND + PATIENCE_NS, 100 * SECOND + MS + PATIENCE_NS)
    forces.pull()
    assert forces.ready().stamps.tolist() == [100 * SECOND + MS, 100 * SECOND + MS + PATIENCE_NS]
    assert forces.counters() == {"force_samples_without_clock": 1}


def test_all_samples_come_that_there_are_between_two_frames():
    """Protects forces beside slow markers, or after a pause: more samples than are read at once do not wait
    until liblsl throws them away.
    """
    plates, markers = ReadStream("A"), SenderClock("A")
    forces = LslForces(plates, markers)
    for clock in (markers, plates.clock):
        compared(clock, 0, 100 * SECOND)
    markers.take(100 * SECOND, 100 * SECOND)
    for k in range(500):
        plates.put(100 * SECOND + k * MS, 100 * SECOND + k * MS)
    forces.pull()
    assert len(forces.ready().stamps) == 500
