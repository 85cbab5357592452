"""Kinds of gait and their bands: who runs is not held against those who walk."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.files.recording import Results
from rtsim.methods.plates.gait_bands import BANDS, FAST, FREE, RUNS, SLOW, band_of, gait_of
from streams.messages import FieldSpec, Session, new_session_id

N, RATE, MASS, STATURE = 400, 100.0, 70.0, 1.75
WEIGHT = 9.81 * MASS
TIMES = np.arange(N) / RATE


def gone(speed: float, most: float, down: float, belt: bool = False) -> Results:
    """One who goes along X in strides of 0.8 s, each foot down for `down` of it, bearing `most` weights."""
    root = np.zeros((N, 3))
    root[:, 0] = 0.0 if belt else speed * TIMES
    places, loads = np.zeros((N, 3, 3)), np.zeros((N, 2))
    places[:, 0] = root
    for k, begins in enumerate((0.0, 0.5)):
        phase = (TIMES / 0.8 - begins) % 1.0
        stands = phase < down
        loads[:, k] = np.where(stands, most * WEIGHT * np.sin(np.pi * phase / down), 0.0)
        back = -speed * 0.8 * (phase - 0.5 * down)
        places[:, 1 + k, 0] = root[:, 0] + np.where(stands, back, 0.0)
    fields = {"foot_loads": loads, "segment_positions": places}
    specs = (
        FieldSpec("foot_loads", (2,), "N", ("right", "left")),
        FieldSpec("segment_positions", (3, 3), "m", ("pelvis", "foot_r", "foot_l")),
    )
    session = Session(
        session=new_session_id(), stream="result", t_start=0, rate=RATE, fields=specs, meta={"side": "both"}
    )
    return Results(session, fields, TIMES, np.zeros(N, np.int64))


@pytest.mark.parametrize("belt", [False, True])
@pytest.mark.parametrize(
    ("speed", "most", "down", "gait"),
    [(0.7, 1.1, 0.65, SLOW), (1.3, 1.2, 0.6, FREE), (2.0, 1.4, 0.56, FAST), (3.5, 2.5, 0.38, RUNS),
     (9.0, 3.6, 0.25, RUNS)],
)  # fmt: skip
def test_the_kind_of_gait(speed: float, most: float, down: float, gait: str, belt: bool) -> None:
    """Protects walking at any speed and running, over ground and on a belt, from each other's bands."""
    found, told = gait_of(gone(speed, most, down, belt), MASS, STATURE)
    assert found == gait
    assert told == pytest.approx(speed, rel=0.05)


def test_an_unknown_stature_is_at_ease() -> None:
    """Protects the bands of level walking where nothing tells how fast a speed is for a person."""
    assert gait_of(gone(0.7, 1.1, 0.65), MASS, 0.0)[0] == FREE


def test_bands_grow_with_speed() -> None:
    """Protects the table: no band ends below that of a slower gait."""
    for band in BANDS:
        for ends in (band.adults, band.children):
            tops = [ends[gait][1] for gait in (SLOW, FREE, FAST, RUNS)]
            assert tops == sorted(tops)
            assert ends[SLOW][0] <= ends[FREE][0]
    assert band_of("knee_flexion_l", RUNS, 1.8) == ("knee extensors_l", (1.0, 4.5))
    assert band_of("hip_flexion", FREE, 1.8) is None
