"""Lab Streaming Layer: real outlets on this computer, read and relayed; what channels are markers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from benchmarks.adapters.double import DoubledPlate
from streams.capture.lsl.channels import LslChannel, force_channels, marker_channels, positions_of
from streams.capture.lsl.library import correction, lsl
from streams.capture.records import CaptureError, CaptureFrame, ClockPair
from streams.capture.system import parse_capture, systems
from streams.clock import now_ns
from tests.streams.capture import relays
from tests.streams.capture.fake_lsl import FakeStream, put_on_network
from tests.streams.capture.relays import GUARD_S, NAMES, relayed, sent, until

CORNERS = np.array([[0.6, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.4, 0.0], [0.6, 0.4, 0.0]])


@pytest.fixture
def double(request):
    pytest.importorskip("pylsl")
    from benchmarks.adapters.doubles.lsl import LslDouble

    served = LslDouble(NAMES, 200.0, getattr(request, "param", ()))
    served.source_id = f"double {os.getpid()}"
    served.start()
    yield served
    served.stop()


def optitrack(label: str, **others) -> list[LslChannel]:
    """Three channels as App-OptiTrack describes a marker."""
    return [LslChannel(f"{label}_{axis}", label, "", f"Position{axis}", "meters", **others) for axis in "XYZ"]


def test_markers_are_found_by_their_types():
    """Protects streams of the official apps: markers by name and type in any order; rigid bodies,
    orientations and confidence are none.
    """
    channels = [*optitrack("LASI"), *optitrack("RASI")[::-1]]
    channels += [LslChannel(f"wand_{axis}", "", "wand", f"Position{axis}", "meters") for axis in "XYZ"]
    channels += [
        LslChannel("LASI_C", "LASI", "", "Confidence", ""),
        LslChannel("q", "", "wand", "OrientationA", "quaternion"),
    ]
    found = marker_channels(channels, len(channels))
    assert found.names == ("LASI", "RASI")
    assert found.columns.tolist() == [[0, 1, 2], [5, 4, 3]]
    assert (found.unit, found.labelled) == ("m", True)


@pytest.mark.parametrize("pattern", ["{}_{}", "{}.{}", "{} {}", "{}{}", "{}:{}", "{}-{}"])
def test_markers_are_found_by_their_labels(pattern):
    """Protects streams whose channels have labels alone, in whatever way they are written."""
    channels = [
        LslChannel(pattern.format(name, axis), unit="millimeters")
        for name in ("LASI", "T10")
        for axis in "xyz"
    ]
    found = marker_channels(channels, 6)
    assert (found.names, found.unit, found.labelled) == (("LASI", "T10"), "mm", True)


def test_channels_that_are_left_out_are_told(double):
    """Protects from a marker that is missing in silence: one whose name, but for blanks, came before."""
    double.describe([*NAMES, f"{NAMES[0]} "])
    connection = systems()["lsl"].open(parse_capture(double.address))
    told = connection.sentences()
    connection.close()
    assert connection.description().names == NAMES
    assert [line for line in told if "left out" in line] == [
        "3 channels of positions are left out: their marker does not have all of x, y and z, or its name "
        "equals an earlier one except for blanks at its ends."
    ]
    assert marker_channels([*optitrack("A"), *optitrack("B")[:2]], 5).n_left == 2
    assert marker_channels([*optitrack("A"), *optitrack("B")], 6).n_left == 0


def test_channels_without_a_description_are_numbered():
    """Protects streams that say nothing: their markers are numbered, and not taken for named ones."""
    found = marker_channels([LslChannel()] * 6, 6)
    assert (found.names, found.labelled, found.unit) == (("marker_1", "marker_2"), False, "")
    assert marker_channels([LslChannel()] * 7, 7).names == ()


def test_units_that_differ_are_left_to_the_standing_person():
    """Protects scale: two units in one stream, or one that nobody knows, are not guessed."""
    channels = [*optitrack("LASI"), *(c._replace(unit="mm") for c in optitrack("RASI"))]
    assert marker_channels(channels, 6).unit == ""
    assert marker_channels([c._replace(unit="inch") for c in optitrack("LASI")], 3).unit == ""


def test_no_numbers_and_zeros_are_occluded():
    """Protects against both ways in which senders tell a marker that is gone."""
    markers = marker_channels([*optitrack("A"), *optitrack("B"), *optitrack("C"), *optitrack("D")], 12)
    sample = np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.0, np.nan, 1.0, 1.0, np.inf, 1.0, 1.0])
    found = positions_of(sample, markers)
    assert np.isnan(found).all(axis=1).tolist() == [False, True, True, True]


def test_plates_are_six_channels_of_one_name():
    """Protects forces: Fx to Mz with a name before them, in any order, moments in N m or N mm."""
    channels = [LslChannel(f"FP1_{part}", unit="N mm") for part in ("Mz", "My", "Mx", "Fz", "Fy", "Fx")]
    channels += [LslChannel(f"FP2.{part}") for part in ("Fx", "Fy")]
    found = force_channels(channels)
    assert (found.names, found.columns.tolist(), found.moment_scale) == (("FP1",), [[5, 4, 3, 2, 1, 0]], 1e-3)


def test_any_description_is_survived():
    """Protects a live run: no text in a stream's description raises anything, or makes markers of nothing."""
    random = np.random.default_rng(0)
    words = [
        "",
        "x",
        "_X",
        "LASI_X",
        "PositionX",
        "positiony",
        "Fx",
        "é",
        "\0",
        "m",
        "a" * 1000,
        "X" * 500,
        "mocap",
    ]
    for _ in range(2000):
        n = int(random.integers(1, 12))
        channels = [LslChannel(*(words[k] for k in random.integers(0, len(words), 5))) for _ in range(n)]
        found = marker_channels(channels, n)
        assert found.columns.shape == (len(found.names), 3)
        assert positions_of(np.zeros(n), found).shape == (len(found.names), 3)
        assert force_channels(channels).columns.shape[1] == 6


def test_frames_arrive_as_they_were_sent(double):
    """Protects positions, names, unit and rate through liblsl; occluded markers are NaN."""
    with relayed(double, "?up=Z") as run:
        for k in range(50):
            rows = relays.positions_of(k)
            rows[2] = np.nan
            sent(double, k, positions=rows)
            time.sleep(0.005)
        until(lambda: run.take() == 50, "50 frames")
        (session,) = run.sessions.values()
        assert session.fields[0].labels == NAMES
        assert (session.fields[0].unit, session.rate) == ("m", 200.0)
        for k, (_, seq, _, _, rows) in enumerate(run.frames):
            assert seq == k
            assert np.isnan(rows[2]).all()
            np.testing.assert_array_equal(np.delete(rows, 2, 0), np.delete(relays.positions_of(k), 2, 0))


def test_other_channels_are_a_new_session_and_a_restart_is_not(double):
    """Protects recovery: a stream of the same name that comes again goes on in the same session, one with
    other markers begins another, whatever their number.
    """
    lists = [NAMES, NAMES, (*NAMES, "LTOE"), ("RASI", "LASI", *NAMES[2:], "LTOE")]
    with relayed(double, "?up=Z") as run:
        k = 0
        for names in lists:
            double.describe(names)
            until(lambda: double.n_client, "the relay to come again")
            time.sleep(0.3)
            for _ in range(10):
                sent(double, k)
                k += 1
                time.sleep(0.005)
            until(lambda: run.take() == k, "all frames so far")  # noqa: B023
        assert [session.fields[0].labels for session in run.sessions.values()] == [
            tuple(names) for names in lists[1:]
        ]
        assert [frame[1] for frame in run.frames] == [*range(20), *range(10), *range(10)]


@pytest.mark.parametrize("double", [[DoubledPlate("FP1", CORNERS, 1000.0)]], indirect=True)
def test_forces_come_beside_the_markers(double):
    """Protects kinetics over LSL: a stream of plates, with the stamps of its own samples."""
    wrench = np.zeros((1, 5, 9))
    wrench[0, :, 2] = 800.0
    wrench[0, :, 3] = np.arange(5.0)
    connection = systems()["lsl"].open(parse_capture(double.address))
    try:
        assert [plate.name for plate in connection.description().plates] == ["FP1"]
        due, frames = time.monotonic() + GUARD_S, []
        while sum(len(f.forces.stamps) for f in frames if f.forces is not None) < 20:
            assert time.monotonic() < due
            sent(double, len(frames), wrenches=wrench)
            time.sleep(0.005)
            frames += [one for one in [connection.read(0.01)] if isinstance(one, CaptureFrame)]
    finally:
        connection.close()
    forces = [frame.forces for frame in frames if frame.forces is not None]
    moments = np.concatenate([f.moment[0, :, 0] for f in forces])
    assert set(moments) == {0.0, 1.0, 2.0, 3.0, 4.0}
    assert np.all(np.diff(np.concatenate([f.stamps for f in forces])) > 0)
    assert all((f.force[0, :, 2] == 800.0).all() for f in forces)


def test_a_rate_that_is_not_told_is_estimated(double):
    """Protects streams of irregular nominal rate, as those of qualisys_lsl_app."""
    double.stop()
    double.nominal, double.clock.given = False, lambda local_ns: local_ns
    double.start()
    source = textwrap.dedent(
        """
        import json, sys
        from streams.capture.system import parse_capture, systems
        connection = systems()["lsl"].open(parse_capture(sys.argv[1]))
        print(json.dumps(connection.description().rate))
        connection.close()
        """
    )
    reader = subprocess.Popen(
        [sys.executable, "-c", source, double.address], stdout=subprocess.PIPE, text=True
    )
    began, k = time.perf_counter_ns(), 0
    while reader.poll() is None:
        assert k < 200 * GUARD_S
        sent(double, k, stamp_ns=began + k * 5_000_000)
        k += 1
        time.sleep(max(0.0, 1e-9 * (began + k * 5_000_000 - time.perf_counter_ns())))
    rate = json.loads(reader.stdout.read())
    reader.stdout.close()
    assert rate == pytest.approx(200.0, abs=20.0)


@pytest.mark.parametrize(
    ("sent_hz", "stated_hz"),
    [(125.0, 125.0), (128.0, 128.0), (144.0, 144.0), (256.0, 256.0), (119.88, 120.0), (136.6, 137.0)],
)
def test_a_measured_rate_is_stated_as_it_is(monkeypatch, sent_hz, stated_hz):
    """Protects devices on the body, whose rate must be that of the markers within two percent: a measured
    rate is not rounded to two digits.
    """
    first_s = 1e-9 * now_ns()
    sent_before = [([1.0, 1.0, 1.0], first_s + k / sent_hz) for k in range(60)]
    put_on_network(monkeypatch, FakeStream("mk", ["A_X", "A_Y", "A_Z"], sent=sent_before))
    connection = systems()["lsl"].open(parse_capture("lsl://mk"))
    connection.close()
    description = connection.description()
    assert description.rate == stated_hz
    assert description.rate_measured
    (told,) = [sentence for sentence in connection.sentences() if "rate" in sentence]
    assert told.endswith(f"its first frames come at {sent_hz:.1f} Hz, which is taken as {stated_hz:g} Hz.")


def test_clocks_are_compared_in_a_thread(double):
    """Protects t_capture: pairs of clocks come beside the frames; of one computer they are one clock."""
    connection = systems()["lsl"].open(parse_capture(double.address))
    sent(double, 0)  # its stamp shows that the comparisons apply to stamps
    import pylsl

    # the pair of readings between which nothing came: the machine may pause between two of them
    readings = [(time.perf_counter_ns(), pylsl.local_clock(), time.perf_counter_ns()) for _ in range(1000)]
    before, theirs_s, after = min(readings, key=lambda reading: reading[2] - reading[0])
    ours_ns = (before + after) // 2 - round(1e9 * theirs_s)
    due, n_close = time.monotonic() + GUARD_S, 0
    while n_close < 2:  # on a busy machine some corrections are later than they say
        assert time.monotonic() < due
        pair = connection.read(0.1)
        if isinstance(pair, ClockPair):
            n_close += abs(pair.local_ns - pair.stamp_ns - ours_ns) < 2_000_000
    connection.close()


def test_corrections_come_with_their_round_trips(double):
    """Protects t_capture on a busy machine: the correction is pylsl's own, and how far it may be off is
    known; a version of pylsl that does not let us ask has none.
    """
    library = lsl()
    (info,) = library.resolve_byprop("name", double.name, 1, GUARD_S)
    inlet = library.StreamInlet(info, recover=False)

    def agree() -> bool:  # on a busy machine one of both may be late
        found, trip = correction(library, inlet, GUARD_S)
        assert trip > 0.0
        return trip < 1.0 and abs(found - inlet.time_correction(GUARD_S)) < 1e-2

    until(agree, "corrections that agree")
    assert correction(object(), inlet, GUARD_S)[1] == 0.0


def test_streams_that_are_none_of_markers_are_named(double):
    """Protects against the wrong stream: texts, no markers, nobody, and what is there instead."""
    import pylsl

    events = pylsl.StreamOutlet(
        pylsl.StreamInfo(f"events {os.getpid()}", "Markers", 1, 0, pylsl.cf_string, "e")
    )
    angles = pylsl.StreamOutlet(
        pylsl.StreamInfo(f"angles {os.getpid()}", "Angles", 4, 0, pylsl.cf_float32, "a")
    )
    for name, words in (("events", "of texts"), ("angles", "no channels of markers")):
        with pytest.raises(CaptureError, match=words):
            systems()["lsl"].open(parse_capture(f"lsl://{name} {os.getpid()}"))
    with pytest.raises(CaptureError, match=double.name):
        systems()["lsl"].open(parse_capture("lsl://nobody"))
    with pytest.raises(CaptureError, match="quotation mark"):
        systems()["lsl"].open(parse_capture("lsl://it's"))
    del events, angles


def test_a_missing_package_is_named_with_the_remedy():
    """Protects who has not installed the extra: one sentence, and what to install."""
    source = (
        "import sys; sys.modules['pylsl'] = None\n"
        "from streams.capture.system import parse_capture, systems\n"
        "try: systems()['lsl'].open(parse_capture('lsl://any'))\n"
        "except Exception as fault: print(fault.reason, fault)\n"
        "print(systems()['lsl'].find(0.1))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=GUARD_S, check=True
    )
    assert done.stdout.startswith("missing Lab Streaming Layer needs pylsl")
    assert "rtsim[lsl]" in done.stdout
    assert done.stdout.endswith("[]\n")
