"""A copy of a recording without names: no text of a person's stays, no number changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.cli.main import cli
from rtsim.errors import ConfigError
from rtsim.files.anonymous import write_anonymous
from streams.codec import FieldLayout, decode, encode
from streams.messages import (
    Command,
    Device,
    End,
    FieldSpec,
    Markers,
    Result,
    Session,
    Telemetry,
    new_session_id,
)
from streams.recording.recorded import read_messages
from streams.recording.recorder import Recorder

NAME = "Ottilie"
LABELS = (f"{NAME}:LASI", f"{NAME}:RASI", "Bernd:LASI", "wall")
META = {
    "subject": NAME, "source": f"/data/{NAME}/walk.c3d", "person": NAME, "notes": [f"{NAME}: a note"],
    "physician": f"Dr {NAME}", NAME: 3.0, "mass_kg": 71.5, "method": "minimised", "model": f"{NAME}_knee",
    "side": "both", "stick": [[LABELS[0], LABELS[1]], [NAME, "wall"]],
    "gait_events": [[0.5, "left", "foot_strike"], [1.0, "right", NAME]],
    "rates": {"kind": "butterworth", "cutoff_hz": 6.0, "told": NAME},
}  # fmt: skip


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording of markers and results with a name wherever a text can stand."""
    positions = FieldSpec("positions", (4, 3), "m", LABELS, meaning=f"markers of {NAME}")
    angles = FieldSpec("joint_angles", (1,), "rad", ("knee_flexion_r",), meaning="of the knee")
    markers = Session(
        session=new_session_id(), stream="markers", t_start=0, rate=100.0, fields=(positions,), meta=META
    )
    results = Session(
        session=new_session_id(), stream="result", t_start=0, rate=100.0, fields=(angles,), meta=META
    )
    rows = np.arange(12.0).reshape(4, 3)
    frame = Markers(
        session=markers.session, seq=0, t_capture=7, time=0.01,
        data=FieldLayout(markers).pack({"positions": rows}),
    )  # fmt: skip
    result = Result(
        session=results.session, seq=0, t_capture=7, time=0.01, t_received=8, t_solved=9, t_published=10,
        status=0, iterations=3, residual=0.5, data=FieldLayout(results).pack({"joint_angles": [0.25]}),
    )  # fmt: skip
    path = tmp_path / "walk.mcap"
    with Recorder(path) as recorder:
        for t_ns, message in enumerate(
            [
                markers, results, frame, result,
                Telemetry(session=results.session, t=11, counters={"received": 1}, text=[f"{NAME} walks."]),
                Command(name="mark", args={"text": NAME, "tick": 5}),
                Device(session=results.session, seq=0, t=12, angle=[0.0], speed=[0.0], torque=[0.0],
                       state="stopped", fault=f"{NAME} fell"),
                End(session=results.session, seq=1, reason=f"{NAME} left"),
            ]
        ):  # fmt: skip
            recorder.write(*encode(message), 100 + t_ns)
        recorder.write("result", b"\x00" + NAME.encode(), 200)
    return path


def test_no_name_stays_and_no_number_changes(recording: Path, tmp_path: Path) -> None:
    """Protects the person: no name or day is in the file; frames and stamps are as they were."""
    out = tmp_path / "copy.mcap"
    copy = write_anonymous(recording, out)
    assert copy.n_bad == 1
    data = out.read_bytes()
    for word in (NAME, "Bernd", "walk.c3d", "physician", "started"):
        assert word.encode() not in data, word
    before = [(t, decode([topic, payload])) for t, topic, payload in [*read_messages(recording)][:-1]]
    after = [(t, decode([topic, payload])) for t, topic, payload in read_messages(out)]
    assert [(t, type(m), m.session) for t, m in after] == [(t, type(m), m.session) for t, m in before]
    for (_, old), (_, new) in zip(before, after, strict=True):
        if isinstance(old, Markers | Result):
            assert new == old


def test_what_readers_need_stays(recording: Path, tmp_path: Path) -> None:
    """Protects the use of the copy: two persons stay apart, and what the protocol knows is there."""
    out = tmp_path / "copy.mcap"
    assert write_anonymous(recording, out).prefixes == (NAME, "Bernd")
    markers, results, *_ = [decode([topic, payload]) for _, topic, payload in read_messages(out)]
    assert isinstance(markers, Session)
    assert isinstance(results, Session)
    assert markers.fields[0].labels == ("person_1:LASI", "person_1:RASI", "person_2:LASI", "wall")
    assert results.fields[0].meaning == "of the knee"
    assert markers.meta == {
        "subject": "person", "source": "recording", "person": "person_1", "mass_kg": 71.5,
        "method": "minimised", "side": "both", "stick": [["person_1:LASI", "person_1:RASI"]],
        "gait_events": [[0.5, "left", "foot_strike"]],
        "rates": {"kind": "butterworth", "cutoff_hz": 6.0},
    }  # fmt: skip


def test_a_copy_is_refused_where_it_cannot_be(recording: Path, tmp_path: Path) -> None:
    """Protects files that are there, and who asks for names to be taken out of another format."""
    with pytest.raises(ConfigError, match="is the recording itself"):
        cli.main(["export", str(recording), str(recording), "--anonymous", "--force"], standalone_mode=False)
    with pytest.raises(ConfigError, match="copies of a recording"):
        cli.main(["export", str(recording), str(tmp_path / "x.csv"), "--anonymous"], standalone_mode=False)
    (tmp_path / "text.mcap").write_text("no recording", encoding="utf-8")
    with pytest.raises(ConfigError, match="is not a recording"):
        write_anonymous(tmp_path / "text.mcap", tmp_path / "y.mcap")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.mcap", "walk.mcap"]
