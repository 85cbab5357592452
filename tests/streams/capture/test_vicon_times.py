"""Times of Vicon's frames: numbers as a clock, held up, paused and begun anew; samples of force plates."""

from __future__ import annotations

import struct
from collections import deque

import numpy as np
import pytest

from streams.capture.frame_times import FrameTimes
from streams.capture.records import CaptureFrame
from streams.capture.vicon.blocks import TICKS_PER_S, DeviceSamples, PlatePose, block
from streams.capture.vicon.frame_numbers import FrameNumbers
from streams.capture.vicon.plates import ViconPlates
from streams.capture.vicon.stream import ViconFrame, ViconStatics, ViconStream

MS = 1_000_000
PERIOD = 10 * MS
BEGIN = 7_000 * MS


class Numbers:
    """Frames of 100 Hz through FrameNumbers and FrameTimes, as a connection and its relay use them."""

    def __init__(self) -> None:
        self.numbers, self.times = FrameNumbers(), FrameTimes()
        self.numbers.period_ns = PERIOD
        self.placed: list = []
        self.kept: deque = deque()
        self.longest_kept_ns = 0

    def put(self, number: int, arrived_ns: int) -> None:
        self.kept.append((number, arrived_ns))
        for stamp_ns in self.numbers.stamps_ns(number, arrived_ns):
            self.place(*self.kept.popleft(), stamp_ns, arrived_ns)

    def place(self, number: int, arrived_ns: int, stamp_ns: int | None, now_ns: int) -> None:
        frame = CaptureFrame(np.zeros((1, 3)), arrived_ns, stamp_ns, number)
        placed = self.times.place(frame, b"%d %d" % (number, arrived_ns), 100.0)
        assert placed is not None
        self.placed.append(placed)
        self.longest_kept_ns = max(self.longest_kept_ns, now_ns - arrived_ns)

    def off_ms(self) -> np.ndarray:
        """Return how far `t_capture` and `time` are from one frame in 10 ms, as (n, 2) [ms]."""
        k = np.arange(len(self.placed))
        t_capture, time = np.array(self.placed).T
        return np.column_stack([1e-6 * (t_capture - BEGIN) - 10.0 * k, 1e3 * time - 10.0 * k])


@pytest.mark.parametrize("held_ms", [300, 600, 1500, 4000])
@pytest.mark.parametrize("first", [1, 200])
def test_frames_that_were_held_up_are_dated_by_their_numbers(held_ms, first):
    """Protects times over a network or a machine that holds frames up and then delivers all at once."""
    run, last = Numbers(), first + held_ms // 10
    for k in range(last + 400):
        run.put(k, BEGIN + PERIOD * (last if first <= k < last else k))
    np.testing.assert_allclose(run.off_ms(), 0.0, atol=0.01)
    assert run.times.counters["frames_left_out"] == 0
    assert run.numbers.counters["frame_numbers_anew"] == 0
    assert run.numbers.counters["late_frames"] == max(0, held_ms - 500) // 10


def test_a_slow_recovery_is_no_pause():
    """Protects times where frames that were held up come a little faster than they are made, with jitter."""
    run, random = Numbers(), np.random.default_rng(3)
    arrived = BEGIN
    for k in range(3500):
        on_time = BEGIN + k * PERIOD
        held = BEGIN + 2080 * PERIOD + (k - 2000) * 17 * MS // 2 + int(random.integers(0, 8 * MS))
        arrived = max(arrived + 1, on_time, held if k >= 2000 else 0)
        run.put(k, arrived)
    np.testing.assert_allclose(run.off_ms(), 0.0, atol=0.01)
    assert run.numbers.counters["frame_numbers_anew"] == 0


def test_frames_that_a_late_server_leaves_out_are_no_leap():
    """Protects times where the server drops what it could not send: the numbers go on with the clock."""
    run = Numbers()
    for k in range(600):
        if not 202 <= k < 290:
            run.put(k, BEGIN + PERIOD * (k + 90 if 200 <= k < 202 else k))
    times = np.array([time for _, time in run.placed])
    np.testing.assert_allclose(times[200:204], [2.0, 2.01, 2.9, 2.91], atol=1e-9)
    assert times[-1] == pytest.approx(5.99)
    assert (run.times.counters["frames_left_out"], run.numbers.counters["frame_numbers_anew"]) == (88, 0)


@pytest.mark.parametrize("paused_ms", [600, 5_000, 10_000])
def test_numbers_that_paused_are_joined_by_arrival_from_the_first_frame_on(paused_ms):
    """Protects times and speeds where the server pauses and its numbers go on: the gap stands where the pause
    was, not in the motion that follows, for which frames are kept back a quarter of a second."""
    run = Numbers()
    for k in range(400):
        run.put(k, BEGIN + PERIOD * k + (paused_ms * MS if k >= 200 else 0))
    off = run.off_ms()
    assert len(off) == 400
    np.testing.assert_allclose(off[:200], 0.0, atol=0.01)
    np.testing.assert_allclose(off[200:], paused_ms, atol=0.01)
    assert run.numbers.counters == {"frame_numbers_anew": 1}
    assert run.longest_kept_ns == 250 * MS


def test_a_late_first_frame_after_a_pause_shifts_no_other():
    """Protects the join from the jitter of one frame: it goes by the earliest arrival after the pause."""
    run = Numbers()
    for k in range(400):
        late_ms = 8 if k == 200 else 0
        run.put(k, BEGIN + PERIOD * k + ((5_000 + late_ms) * MS if k >= 200 else 0))
    np.testing.assert_allclose(run.off_ms()[200:], 5_000, atol=0.01)


def test_frames_are_not_kept_back_for_ever():
    """Protects the relay where frames stand still, or have no numbers, or come seldom after a late one."""
    numbers = FrameNumbers()
    numbers.period_ns = PERIOD
    n_dated = [len(numbers.stamps_ns(k, BEGIN + k * PERIOD)) for k in range(3)]
    assert n_dated == [1, 1, 1]
    late_ns = BEGIN + 3_000 * MS
    assert numbers.stamps_ns(3, late_ns) == []
    assert numbers.kept_until_ns == late_ns + 500 * MS
    n_dated = [len(numbers.stamps_ns((3, -1)[k % 2], late_ns + k * PERIOD)) for k in range(1, 60)]
    assert n_dated == [0] * 49 + [51] + [1] * 9
    other = FrameNumbers()
    other.period_ns = PERIOD
    other.stamps_ns(0, BEGIN)
    assert other.stamps_ns(1, late_ns) == []
    assert other.release_ns() == [PERIOD]
    assert other.stamps_ns(2, late_ns + PERIOD) == [2 * PERIOD]
    assert other.counters == {"late_frames": 2}


@pytest.mark.parametrize("anew", [0, 150, 5_000, 1_000_000])
def test_numbers_that_begin_anew_or_leap_are_joined_by_arrival(anew):
    """Protects times where a recording starts over, or numbers leap far ahead of the clock."""
    run = Numbers()
    for k in range(400):
        run.put(k if k < 200 else anew + k - 200, BEGIN + PERIOD * k)
    np.testing.assert_allclose(run.off_ms(), 0.0, atol=0.01)
    assert run.numbers.counters["frame_numbers_anew"] == 1


def test_numbers_that_run_slower_than_the_clock_stay_a_clock():
    """Protects speeds in a recording that plays at half its speed: its times are those of the recording."""
    numbers = FrameNumbers()
    numbers.period_ns = PERIOD
    stamps = [numbers.stamps_ns(k, BEGIN + 2 * k * PERIOD) for k in range(1000)]
    assert stamps == [[k * PERIOD] for k in range(1000)]
    assert not numbers.counters


def test_any_numbers_and_arrivals_are_survived():
    """Protects against a hostile server: stamps increase, whatever the numbers are."""
    random, numbers = np.random.default_rng(4), FrameNumbers()
    numbers.period_ns = PERIOD
    arrived, stamps = BEGIN, []
    for _ in range(5000):
        arrived += int(random.choice([0, MS, 10 * MS, 700 * MS, 10_000 * MS]))
        number = int(random.choice([-1, 0, 7, 8, 9, 2**32 - 1, random.integers(0, 2**32)]))
        stamps += numbers.stamps_ns(number, arrived)
    stamps += numbers.release_ns()
    assert len(stamps) == 5000
    assert np.all(np.diff([stamp for stamp in stamps if stamp is not None]) > 0)


BOUNDS = np.array([[-300.0, -200.0, -50.0], [300.0, 200.0, 0.0]])


class Laboratory:
    """Cameras and force plates, each with a rate and samples per frame of its own device: the vertical force
    of a sample is its time [ms], and its moment about x a tenth of that.

    plates : (rate [Hz], samples in a device frame, beginning of its frame 0 [ms]) of each plate
    period : whether the server tells the period of the devices' frames
    once : whether a device frame comes in one packet only, the first one that it touches
    """

    def __init__(
        self, camera_hz: int, *plates: tuple[int, int, float], period: bool = True, once: bool = False
    ) -> None:
        self.once = once
        self.sent: set[tuple[int, int]] = set()
        self.period, self.plates_hz = TICKS_PER_S // camera_hz, plates
        self.device_periods = [TICKS_PER_S * n // rate for rate, n, _ in plates]
        self.begins = [round(1e-3 * begin * TICKS_PER_S) for _, _, begin in plates]
        self.plates = ViconPlates(self.statics(period))
        self.handed: list = []

    def statics(self, period: bool = True) -> ViconStatics:
        return ViconStatics(
            period=self.period,
            up="+Z",
            plates=tuple(PlatePose(5 + k, np.zeros(3), np.eye(3), BOUNDS) for k in range(len(self.begins))),
            devices=tuple((5 + k, p if period else 0, f"P{k}") for k, p in enumerate(self.device_periods)),
            starts=tuple((5 + k, begin) for k, begin in enumerate(self.begins) if begin),
        )

    def packet(self, number: int, number_off: int = 0, silent: tuple[int, ...] = ()) -> ViconFrame:
        """Return a frame of the cameras with all device frames that touch it."""
        begin, end = number * self.period, (number + 1) * self.period
        samples: dict[str, list[DeviceSamples]] = {"force": [], "moment": []}
        for k, (_, n, _) in enumerate(self.plates_hz):
            long = self.device_periods[k]
            first, last = (begin - self.begins[k]) // long, -(-(end - self.begins[k]) // long)
            for f in range(max(first, 0), last if k not in silent else 0):
                if self.once and (k, f) in self.sent:
                    continue
                self.sent.add((k, f))
                ms = 1e3 * (self.begins[k] + long * (f + np.arange(n) / n)) / TICKS_PER_S
                force = np.vstack([0.0 * ms, 0.0 * ms, ms]).astype(np.float32)
                samples["force"].append(DeviceSamples(f + number_off, 5 + k, 1, force))
                samples["moment"].append(DeviceSamples(f + number_off, 5 + k, 2, 0.1 * force[::-1]))
        return ViconFrame(number, None, None, 0.0, samples)

    def hand_over(self, *packets: ViconFrame) -> None:
        for packet in packets:
            stamp_ns = packet.number * (self.period * 1_000_000_000 // TICKS_PER_S)
            forces = self.plates.samples(packet, stamp_ns)
            self.handed += [forces] if forces is not None else []

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the stamps of all samples [ms] and the vertical forces, (n_plate, n)."""
        stamps = 1e-6 * np.concatenate([forces.stamps for forces in self.handed])
        return stamps, np.concatenate([forces.force[:, :, 2] for forces in self.handed], axis=1)


@pytest.mark.parametrize(
    ("camera_hz", "rate", "n", "begin_ms"),
    [
        (150, 1000, 5, 0.0),
        (120, 1000, 1, 0.0),
        (100, 1000, 10, 0.0),
        (150, 2000, 20, 1.5),
        (250, 1200, 6, 0.0),
    ],
)
def test_samples_of_plates_have_the_times_of_their_device(camera_hz, rate, n, begin_ms):
    """Protects kinetics: samples are dated by the device's frames, which may overlap those of the cameras,
    each is handed on once, and the rate is the device's."""
    laboratory = Laboratory(camera_hz, (rate, n, begin_ms))
    laboratory.hand_over(*[laboratory.packet(number) for number in range(60)])
    stamps, (forces,) = laboratory.rows()
    np.testing.assert_allclose(stamps, forces, atol=1e-3)
    np.testing.assert_allclose(np.diff(stamps), 1e3 / rate, atol=1e-3)
    assert len(stamps) >= 60 * rate // camera_hz - n
    moments = np.concatenate([handed.moment[0, :, 0] for handed in laboratory.handed])
    np.testing.assert_allclose(moments, 0.1 * forces, rtol=1e-5)
    assert laboratory.plates.descriptions()[0].rate == rate
    assert laboratory.plates.sentences() == []


@pytest.mark.parametrize(
    ("first", "sizes", "corrected"),
    [
        (9, (8, 8, 9), 1000.0),
        (8, (9, 8, 8), 1000.0),
        (3, (8,), 960.0),
        (8, (8,), 960.0),
        (8, (8,) * 59 + (9,), 960.0),
    ],
)
@pytest.mark.parametrize("told", [True, False])
def test_the_rate_of_a_plate_is_the_mean_of_its_frames(first, sizes, corrected, told):
    """Protects the stated rate where frames have no whole number of samples, or the first one is cut off: it
    is corrected once, and where all is well nothing changes."""
    statics = Laboratory(120, (960, 8, 0.0)).statics(told)
    plates, changes = ViconPlates(statics), []
    for number in range(100):
        size = (first, *sizes * 100)[number]
        part = np.full((3, size), 50.0, np.float32)
        samples = {
            "force": [DeviceSamples(number, 5, 1, part)],
            "moment": [DeviceSamples(number, 5, 2, part)],
        }
        for _ in range(2):  # and once more in a later packet
            plates.samples(ViconFrame(number, None, None, 0.0, samples), number * 8_333_333)
            changes += [plates.descriptions()[0].rate] if plates.newly_rated else []
    assert changes == [120.0 * first, corrected][: 1 + (corrected != 120.0 * first)]


def test_the_rate_of_a_plate_is_known_without_frame_numbers():
    """Protects the stated rate where the cameras' frames have no number, or one that stands still."""
    plates = ViconPlates(Laboratory(120, (960, 8, 0.0)).statics(False))
    part = [DeviceSamples(0, 5, 1, np.full((3, 8), 50.0, np.float32))]
    plates.samples(ViconFrame(-1, None, None, 0.0, {"force": part, "moment": part}), None)
    assert plates.descriptions()[0].rate == 960.0


def test_new_descriptions_hand_no_sample_on_twice():
    """Protects times where a subject is added: plates, their rate and what was handed on stay known."""
    laboratory = Laboratory(150, (1000, 5, 0.0))
    laboratory.hand_over(laboratory.packet(0))
    laboratory.plates = ViconPlates(laboratory.statics(), laboratory.plates)
    assert laboratory.plates.descriptions()[0].rate == 1000.0
    laboratory.hand_over(laboratory.packet(1), laboratory.packet(2))
    stamps, (forces,) = laboratory.rows()
    np.testing.assert_allclose(forces, np.arange(20.0), atol=1e-3)
    np.testing.assert_allclose(stamps, forces, atol=1e-3)
    assert laboratory.plates.counters["plate_samples_again"] == 10


@pytest.mark.parametrize(("period", "off"), [(False, 0), (True, 4000)])
def test_samples_whose_times_are_not_told_are_spread_over_the_frame(period, off):
    """Protects forces of a server that does not tell a device's period, or numbers device frames otherwise:
    they are spread as if they began with the frame, which is counted and told once."""
    laboratory = Laboratory(100, (1000, 10, 0.0), period=period)
    laboratory.hand_over(*[laboratory.packet(number, off) for number in range(5)])
    stamps, (forces,) = laboratory.rows()
    np.testing.assert_allclose(stamps, forces, atol=1e-3)
    assert laboratory.plates.counters["frames_with_spread_forces"] == 5
    (sentence,) = laboratory.plates.sentences()
    assert "spread evenly over each frame" in sentence
    assert laboratory.plates.descriptions()[0].rate == 1000.0


def test_frames_without_a_stamp_have_samples_from_zero():
    """Protects forces where the frame numbers stand still: they are spread over the frame's period."""
    laboratory = Laboratory(100, (1000, 10, 0.0))
    for _ in range(2):
        forces = laboratory.plates.samples(laboratory.packet(3), None)
        np.testing.assert_array_equal(forces.stamps, MS * np.arange(10))


def test_plates_of_several_rates_are_not_mixed_up():
    """Protects the sum of forces: a slower plate has values at the times of its samples alone; what is
    missing or left out is counted and told."""
    laboratory = Laboratory(100, (1000, 10, 0.0), (2000, 20, 0.0), (1000, 10, 0.2))
    laboratory.hand_over(*[laboratory.packet(number) for number in range(4)])
    stamps, (slow, fast, shifted) = laboratory.rows()
    np.testing.assert_allclose(stamps, np.arange(80) / 2.0, atol=1e-3)
    np.testing.assert_allclose(fast, stamps, atol=1e-3)
    np.testing.assert_allclose(slow[::2], stamps[::2], atol=1e-3)
    assert np.isnan(slow[1::2]).all()
    np.testing.assert_allclose(shifted[::2], stamps[::2] + 0.2, atol=1e-3)
    counters = laboratory.plates.counters
    assert (counters["plate_samples_missing"], counters["plate_samples_left_out"]) == (80, 0)
    (sentence,) = laboratory.plates.sentences()
    assert sentence.startswith("The force plate P0 ")
    assert [plate.rate for plate in laboratory.plates.descriptions()] == [1000.0, 2000.0, 1000.0]


def test_devices_with_frames_of_several_lengths_lose_nothing():
    """Protects forces where one device has shorter frames than another: all samples of both are handed on."""
    laboratory = Laboratory(150, (1000, 5, 0.0), (1000, 10, 0.0), (500, 20, 0.0))
    laboratory.hand_over(*[laboratory.packet(number) for number in range(30)])
    stamps, (first, second, slow) = laboratory.rows()
    np.testing.assert_allclose(stamps, np.arange(200.0), atol=1e-3)
    np.testing.assert_allclose(first, stamps, atol=1e-3)
    np.testing.assert_allclose(second, stamps, atol=1e-3)
    np.testing.assert_allclose(slow[::2], stamps[::2], atol=1e-3)
    assert laboratory.plates.counters["plate_samples_left_out"] == 0


@pytest.mark.parametrize("begin_ms", [2.0, 5.0, 2.3, 4.7])
@pytest.mark.parametrize("late", [0, 1])
def test_device_frames_that_come_once_and_overlap_lose_nothing(begin_ms, late):
    """Protects forces of a server that sends device frames once: what one plate has beyond the samples of
    another waits for the next packet, and is not lost as missing."""
    begins, off_ms = [0.0, 0.0], 1e-3 + abs(begin_ms - round(begin_ms))
    begins[late] = begin_ms
    laboratory = Laboratory(100, (1000, 10, begins[0]), (1000, 10, begins[1]), once=True)
    laboratory.hand_over(*[laboratory.packet(number) for number in range(50)])
    stamps, forces = laboratory.rows()
    assert len(stamps) >= 480
    settled = stamps >= 10.0
    np.testing.assert_allclose(np.diff(stamps), 1.0, atol=1e-3)
    both = np.array([stamps, stamps])
    np.testing.assert_allclose(forces[:, settled], both[:, settled], atol=off_ms)
    moments = np.concatenate([handed.moment[:, :, 0] for handed in laboratory.handed], axis=1)
    np.testing.assert_allclose(moments[:, settled], 0.1 * both[:, settled], atol=off_ms)
    counters = laboratory.plates.counters
    assert counters["plate_samples_missing"] <= 10
    assert counters["plate_samples_left_out"] <= 5  # before the other plate began
    assert counters["plate_samples_again"] == 0


def test_samples_that_wait_are_left_out_where_times_become_unknown():
    """Protects times: what waited for another plate is not given a time that is not its own, but counted."""
    laboratory = Laboratory(100, (1000, 10, 0.0), (1000, 10, 2.0), once=True)
    laboratory.hand_over(*[laboratory.packet(number) for number in range(3)])
    assert laboratory.plates.counters["plate_samples_left_out"] == 0
    assert laboratory.plates.samples(laboratory.packet(3), None) is not None
    assert laboratory.plates.counters["plate_samples_left_out"] == 2


def test_a_period_of_hours_ends_nothing():
    """Protects the relay from a device whose stated period leaves no rate: its samples are spread."""
    statics = Laboratory(100, (1000, 10, 0.0)).statics()
    plates = ViconPlates(statics._replace(devices=((5, 2**50, "P0"),)))
    part = [DeviceSamples(0, 5, 1, np.full((3, 8), 50.0, np.float32))]
    for number in range(3):
        packet = ViconFrame(number, None, None, 0.0, {"force": part, "moment": part})
        assert plates.samples(packet, number * PERIOD) is not None
    assert plates.counters["frames_with_spread_forces"] == 3


def test_a_plate_that_falls_silent_holds_no_other_up():
    """Protects forces where a plate stops to send: what waits for it is handed on with the next packet."""
    laboratory = Laboratory(100, (1000, 10, 0.0), (1000, 10, 5.0), once=True)
    laboratory.hand_over(*[laboratory.packet(number) for number in range(5)])
    laboratory.hand_over(*[laboratory.packet(number, silent=(1,)) for number in range(5, 10)])
    stamps, (first, second) = laboratory.rows()
    assert stamps[-1] >= 98.5
    np.testing.assert_allclose(first, stamps, atol=1e-3)
    assert np.isnan(second[stamps > 60.0]).all()
    laboratory.plates = ViconPlates(laboratory.statics(), laboratory.plates)
    laboratory.hand_over(*[laboratory.packet(number, silent=(0,)) for number in range(10, 13)])
    laboratory.hand_over(*[laboratory.packet(number) for number in range(13, 15)])
    stamps, (first, second) = laboratory.rows()
    assert np.all(np.diff(stamps) > 0.9)
    assert stamps[-1] >= 145.0
    alone = (stamps > 105.0) & (stamps < 134.5)
    np.testing.assert_allclose(second[alone], stamps[alone], atol=1e-3)
    assert np.sum(alone) >= 29
    assert laboratory.plates.counters["plate_samples_left_out"] == 0


def test_a_silent_plate_and_forces_without_moments_are_told():
    """Protects against a plate that is switched off or sends half of its channels: it is not measured."""
    laboratory = Laboratory(100, (1000, 10, 0.0), (1000, 10, 0.0))
    laboratory.hand_over(laboratory.packet(0, silent=(1,)))
    _, (first, second) = laboratory.rows()
    np.testing.assert_allclose(first, np.arange(10.0), atol=1e-3)
    assert np.isnan(second).all()
    packet = laboratory.packet(1)
    packet.samples["moment"] = [part for part in packet.samples["moment"] if part.device == 5]
    laboratory.hand_over(packet)
    assert np.isnan(laboratory.handed[1].force[1]).all()
    counters = laboratory.plates.counters
    assert (counters["plate_samples_missing"], counters["plate_samples_left_out"]) == (20, 10)
    assert len(laboratory.plates.sentences()) == 2


def test_when_a_device_began_is_read():
    """Protects the times of a device whose frame 0 is later than that of the cameras."""
    stream = ViconStream()
    device = struct.pack("<IQI", 5, 675_000, 1) + b"P"
    stream.take(block((3, device), (38, struct.pack("<IQ", 5, 202_500))))
    assert (stream.statics.devices, stream.statics.starts) == (((5, 675_000, "P"),), ((5, 202_500),))
