"""Times of the samples of Vicon's plates: by their device, and where these are not told."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from streams.capture.vicon.blocks import TICKS_PER_S, DeviceSamples, PlatePose, block
from streams.capture.vicon.plates import ViconPlates
from streams.capture.vicon.stream import ViconFrame, ViconStatics, ViconStream

MS = 1_000_000
PERIOD = 10 * MS
BEGIN = 7_000 * MS


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
