"""Motions of joints from recordings: the instants of what was filtered, and values that are flagged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.methods.generators.joint_motion import FIELDS, OF_PERSON, JointMotion, read_joint_motion
from streams.codec import FieldLayout, encode
from streams.messages import FieldSpec, Result, Session, Status, new_session_id
from streams.recording.recorder import Recorder

Array = NDArray[np.float64]

N, RATE, DELAY = 200, 100.0, 0.05
TIMES = np.arange(N) / RATE
KNEE = "knee_flexion_r"
SPIKE_NM, WRONG = 300.0, slice(90, 100)
FILTERED = slice(95, 105)
"""The rows in which a filter of this delay shows the frames WRONG."""
STATED = {"rates": {"kind": "butterworth", "cutoff_hz": 6.0, "order": 2, "delay_s": [DELAY] * 3}}


def angle(t: Array) -> Array:
    return 0.5 * np.sin(2.0 * np.pi * t)


def speed(t: Array) -> Array:
    return np.pi * np.cos(2.0 * np.pi * t)


def moment(t: Array) -> Array:
    return 50.0 * np.exp(-(((t - 1.0) / 0.1) ** 2))


def columns_of(names: tuple[str, ...], late: tuple[float, float, float]) -> dict[str, Array]:
    """The three fields of a knee, each by its own delay [s]."""
    courses = zip(names, (angle, speed, moment), late, strict=True)
    return {name: course(TIMES - by)[:, None] for name, course, by in courses}


def of_person() -> dict[str, Array]:
    return columns_of(OF_PERSON, (0.0, DELAY, DELAY))


def read(
    folder: Path, columns: dict[str, Array], meta: dict[str, Any] = STATED, status: Array | None = None
) -> JointMotion:
    """Write a recording with these fields (n, 1), and read its motion; status : (n,) bits of the frames."""
    labels = {"joint_status": ("knee_r",)}
    specs = tuple(
        FieldSpec(name, (1,), "1", labels.get(name, (KNEE,)), joints=(("knee_r",),)) for name in columns
    )
    session = Session(
        session=new_session_id(), stream="result", t_start=0, rate=RATE, fields=specs, meta=dict(meta)
    )
    layout, path = FieldLayout(session), folder / f"{session.session}.mcap"
    bits = np.zeros(N) if status is None else status
    with Recorder(path) as recorder:
        recorder.write(*encode(session), 0)
        for k, time in enumerate(TIMES.tolist()):
            data = layout.pack({name: rows[k] for name, rows in columns.items()})
            now = round(1e9 * (1.0 + time))
            result = Result(
                session=session.session, seq=k, t_capture=now, time=time, data=data, t_received=now,
                t_solved=now, t_published=now, status=int(bits[k]), iterations=1, residual=0.0,
            )  # fmt: skip
            recorder.write(*encode(result), now)
    return read_joint_motion(path, [KNEE])


@pytest.mark.parametrize(
    ("names", "late"), [(OF_PERSON, (0.0, DELAY, DELAY)), (FIELDS, (DELAY, DELAY, DELAY))]
)
def test_a_motion_is_at_the_instants_of_its_moments(
    tmp_path: Path, names: tuple[str, ...], late: tuple[float, float, float]
) -> None:
    """Protects EMG and co-contraction over time from a motion that is late by its filter, of a person and of
    a model with markers of its own."""
    motion = read(tmp_path, columns_of(names, late))
    assert motion.times[-1] == pytest.approx(TIMES[-1] - DELAY)
    found, rates, moments = motion.of(KNEE)
    np.testing.assert_allclose(found, angle(motion.times), atol=1e-3)
    np.testing.assert_allclose(rates, speed(motion.times), atol=1e-9)
    np.testing.assert_allclose(moments, moment(motion.times), atol=1e-9)


@pytest.mark.parametrize(
    ("field", "bits"),
    [
        ("joint_angles_mask", 1), ("joint_status", Status.DEGRADED), ("joint_status", Status.SUSPECT),
        ("joint_status", Status.IMPLAUSIBLE), ("", Status.NOT_CONVERGED), ("", Status.INVALID_INPUT),
    ],
)  # fmt: skip
def test_values_that_are_not_to_be_used_are_left_out(tmp_path: Path, field: str, bits: int) -> None:
    """Protects strengths from moments of poses that are masked or flagged: they are unknown, and counted."""
    columns, flags = of_person(), np.zeros(N)
    columns["joint_moments"][FILTERED] = SPIKE_NM
    flags[WRONG] = int(bits)
    if field:
        columns[field] = flags[:, None]
    motion = read(tmp_path, columns, status=None if field else flags)
    assert np.nanmax(motion.of(KNEE)[2]) < 51.0
    assert any(f"not used of {N} frames" in note and f"{KNEE} in 15" in note for note in motion.notes)


@pytest.mark.parametrize("delay", [0.0, DELAY, 0.046])
def test_filtered_values_of_flagged_frames_are_left_out(tmp_path: Path, delay: float) -> None:
    """Protects strengths of models with markers of their own: a flagged pose shows later by the delay of
    the filter, from the frame in which the filter takes it, and values before and after it are kept."""
    columns, bits = columns_of(FIELDS, (delay, delay, delay)), np.zeros((N, 1))
    n_late = int(np.ceil(delay * RATE))
    bits[WRONG] = float(Status.SUSPECT)
    columns["coordinate_moments"][WRONG.start : WRONG.stop + n_late] = SPIKE_NM
    stated = {"rates": {**STATED["rates"], "delay_s": [delay] * 3}}
    motion = read(tmp_path, {**columns, "joint_status": bits}, stated)
    kept = np.rint(RATE * (motion.times + delay)).astype(int).tolist()
    assert kept == [*range(WRONG.start), *range(WRONG.stop + n_late, N)]
    assert np.nanmax(motion.of(KNEE)[2]) < 51.0


def test_late_and_uncertain_frames_are_used(tmp_path: Path) -> None:
    """Protects sound recordings: a frame that came late is as good as others, and of an uncertain joint the
    mask says which angle it is."""
    columns, bits = of_person(), np.full(N, float(Status.LATE | Status.UNCERTAIN))
    plain = read(tmp_path, columns)
    flagged = read(tmp_path, {**columns, "joint_status": bits[:, None]}, status=bits)
    np.testing.assert_array_equal(flagged.moment, plain.moment)
    assert not any("not used" in note for note in flagged.notes)


@pytest.mark.parametrize(
    "meta", [{}, {"rates": {"kind": "butterworth", "cutoff_hz": 6.0, "order": 2}}, {"rates": {"delay_s": []}}]
)
def test_a_recording_without_a_delay_is_refused(tmp_path: Path, meta: dict[str, Any]) -> None:
    """Protects users with too few frames per second, or other recordings, from a traceback."""
    with pytest.raises(ConfigError, match="does not state the delay of its filter"):
        read(tmp_path, of_person(), meta)
