"""Forces of a recording that rtsim made: their times, also where the trial was played again."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rtsim.files.forces.recorded_forces import read_recorded_forces
from streams.codec import FieldLayout, encode
from streams.messages import Forces, Session, force_session
from streams.recording.recorder import Recorder

N_MESSAGE = 10
CORNERS = [[[0.0, 0.0, 0.0], [0.4, 0.0, 0.0], [0.4, 0.0, 0.6], [0.0, 0.0, 0.6]]]


def recorded(path: Path, times: np.ndarray, clock: np.ndarray, speed: float = 1.0) -> Path:
    """A recording of one plate with two samples a message, 5 ms apart; times, clock : of the messages [s]"""
    session: Session = force_session(
        ["plate"], 2, rate=100.0 * speed, sample_rate=200.0, t_start=0, corners=CORNERS,
        meta={"speed": speed},
    )  # fmt: skip
    layout = FieldLayout(session)
    with Recorder(path) as recorder:
        recorder.write(*encode(session), 0)
        for k, (time, passed) in enumerate(zip(times.tolist(), clock.tolist(), strict=True)):
            force = np.zeros((1, 2, 3))
            force[:, :, 1] = 100.0 + k
            data = layout.pack(
                {"sample_times": np.array([time - 0.005, time]), "force": force, "moment": 0.0 * force}
            )
            t_capture = round(1e9 * (1.0 + passed))
            message = Forces(session=session.session, seq=k, t_capture=t_capture, time=time, data=data)
            recorder.write(*encode(message), k)
    return path


def test_forces_that_were_sent_twice_continue_like_the_markers(tmp_path):
    """Protects the forces of a second round: they are neither lost nor at the times of the first."""
    round_ = 3.2 + 0.01 * np.arange(5)
    times = np.concatenate([round_, round_])
    since = np.concatenate([round_ - 3.2, round_ - 3.2 + 0.15])
    for speed in (1.0, 2.0):
        path = recorded(tmp_path / f"{speed:g}.mcap", times, since / speed, speed)
        trial = read_recorded_forces(path)
        own = np.sort(np.concatenate([3.2 + since, 3.2 + since - 0.005]))
        np.testing.assert_allclose(trial.times, own, atol=1e-9)
        np.testing.assert_allclose(trial.force[:, 0, 1], np.repeat(100.0 + np.arange(N_MESSAGE), 2))
        assert any("forces were sent more than once" in note for note in trial.notes)


def test_samples_that_come_twice_are_no_second_round(tmp_path):
    """Protects from forces at made-up times: a message that was sent again is left out and counted."""
    times = 3.2 + 0.01 * np.array([0, 1, 2, 2, 3])
    trial = read_recorded_forces(recorded(tmp_path / "a.mcap", times, 0.01 * np.arange(5)))
    np.testing.assert_allclose(trial.times, 3.195 + 0.005 * np.arange(8))
    assert "2 force samples left out, because their times do not increase" in trial.notes
