"""A person who wears a device and does not walk on: no torque of a spline, and what nobody can do latches."""

from __future__ import annotations

import numpy as np
import pytest

import rtsim.live.hardware.wearable_run
from rtsim.live.inputs.sources import load_trial
from tests.rtsim.live.hardware.test_wearable_run import followed, worn

pytestmark = pytest.mark.process
SECONDS, CHANGE_S = 18.0, 6.0


def backwards(times: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """The way back on the belt, frame by frame, for three seconds; then forwards again."""
    k = int(np.searchsorted(times, CHANGE_S))
    back = positions[k - 300 : k][::-1]
    return np.concatenate([positions[:k], back, positions[k - 300 :]])[: len(positions)]


def round_(times: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Half a turn about the vertical, in two seconds."""
    angle = np.pi * np.clip((times - CHANGE_S) / 2.0, 0.0, 1.0)
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
    x, y, z = np.moveaxis(positions, -1, 0)
    return np.stack([c * x + s * z, y, c * z - s * x], axis=-1)


def elsewhere(times: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Three metres to the side between two frames."""
    return positions + np.where(times < CHANGE_S, 0.0, 3.0)[:, None, None] * np.array([0.0, 0.0, 1.0])


def made(monkeypatch, change) -> None:
    """Have the walker do something else from CHANGE_S on."""

    def trial(source: str, **options):
        found = load_trial(source, SECONDS, **options)
        return found._replace(positions=change(found.times, found.positions))

    monkeypatch.setattr(rtsim.live.hardware.wearable_run, "load_trial", trial)


@pytest.mark.parametrize("change", [backwards, round_])
def test_who_does_not_walk_on_has_no_torque(change, tmp_path, monkeypatch) -> None:
    """Protects the wearer: who walks backwards on a belt, or turns round, has none within 0.7 s; it comes
    back with whole strides forwards, and nothing latches."""
    made(monkeypatch, change)
    found, port, _ = followed(worn(tmp_path))
    times = found.times
    torque = np.array([output.torque[0] for output in port.outputs[: len(times)]])
    sure = found.fields["gait_phase_confidence"][:, 0]
    during = (times > CHANGE_S + 0.7) & (times < CHANGE_S + 2.0)
    assert torque[times < CHANGE_S].min() < -5.0
    assert (sure[during] == 0.0).all()
    assert (torque[during] == 0.0).all()
    after = torque[times > CHANGE_S + 3.0]
    assert (after[:200] == 0.0).all()  # less than two strides
    assert after.min() < -5.0
    assert port.outputs[-2].armed


def test_a_leap_of_the_person_latches(tmp_path, monkeypatch) -> None:
    """Protects the wearer: who is three metres away in the next frame is somebody else, or lost."""
    made(monkeypatch, elsewhere)
    found, port, said = followed(worn(tmp_path))
    armed = np.array([output.armed for output in port.outputs[: len(found.times)]])
    assert armed[(found.times > 0.3) & (found.times < CHANGE_S - 0.02)].all()
    assert not armed[found.times > CHANGE_S + 0.02].any()
    assert any("-> fault: the person leaps by 3 m in 10 ms" in text for text in said)
