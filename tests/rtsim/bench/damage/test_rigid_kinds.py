"""Damage of segments whose markers err together: what stays as it is, and by how much the rest is off."""

import numpy as np
import pytest

from benchmarks.damage.kinds import rigid
from tests.rtsim.bench.damage.drawn import GROUPS, SEEDS, a_scene, changed, draw, shifts


def test_a_cluster_is_bumped_as_one():
    found = draw(rigid.cluster_bumped)
    by = (found.positions - a_scene().positions)[found.first, changed(found).any(axis=0)]
    np.testing.assert_allclose(by, np.broadcast_to(by[0], by.shape), atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cluster_turns_as_one_about_its_middle_by_the_same_turn_in_all_frames(seed):
    """Protects the class: distances and the middle stay, and what turns stays with the segment."""
    scene, n = a_scene(), 200
    shape = np.random.default_rng(2).uniform(-0.1, 0.1, (3, 3))
    spin = [rigid.turn(np.array([0.0, 0.6, 0.8]), 0.7 * k) for k in range(n)]
    scene.positions[:, 3:6] = np.array([shape @ R.T for R in spin])
    for m in range(9):
        scene.positions[:, m] += np.arange(n)[:, None] * 1e-3
    found = next(
        f for f in (draw(rigid.cluster_turned, s, scene) for s in range(seed, 99)) if "RTHI" in f.what
    )
    inside = slice(found.first, found.stop)
    before, after = scene.positions[inside, 3:6], found.positions[inside, 3:6]
    np.testing.assert_allclose(after.mean(axis=1), before.mean(axis=1), atol=1e-12)
    own = [R.T @ rigid.fitted(b - b.mean(0), a - a.mean(0)) @ R
           for R, b, a in zip(spin[inside], before, after, strict=True)]  # fmt: skip
    np.testing.assert_allclose(own, np.broadcast_to(own[0], np.shape(own)), atol=1e-9)
    degrees = np.degrees(np.arccos((np.trace(own[0]) - 1.0) / 2.0))
    assert f"turned by {degrees:.0f} degrees" in found.what
    assert round(degrees) in (10, 20)


def test_a_segment_is_late_by_three_frames_or_50_ms():
    seen = set()
    for seed in range(20):
        found, before = draw(rigid.segment_late, seed), a_scene().positions
        own = np.flatnonzero(changed(found).any(axis=0))
        n = int(found.what.split(" frames late")[0].split()[-1])
        seen.add((n, found.first == 1))
        assert len({GROUPS[m] for m in own}) == 1
        late = np.arange(found.first, found.stop) - n
        np.testing.assert_array_equal(
            found.positions[found.first :, own], before[np.maximum(late, 0)][:, own]
        )
    assert seen == {(n, whole) for n in (3, 5) for whole in (True, False)}


def test_a_segment_steps_as_one():
    sizes = set()
    for seed in range(20):
        away = shifts(draw(rigid.segment_steps, seed))
        np.testing.assert_allclose(away[away > 0.0], away.max(), rtol=1e-9)
        sizes.add(round(1e3 * away.max()))
    assert sizes == {30, 60}


def test_a_cuff_slides_towards_the_next_segment():
    found, before = draw(rigid.cuff_slides), a_scene().positions
    inside = slice(found.first, found.stop)
    by = (found.positions - before)[inside, 3:6]
    down = before[inside, 6:9].mean(axis=1) - before[inside, 3:6].mean(axis=1)
    size = 0.02 * 0.01 * np.arange(1, len(by) + 1)
    np.testing.assert_allclose(np.linalg.norm(by, axis=2), np.tile(size[:, None], 3), rtol=1e-9)
    np.testing.assert_allclose(
        by[:, 0], size[:, None] * down / np.linalg.norm(down, axis=1, keepdims=True), atol=1e-12
    )
    assert rigid.next_below("thigh_l") == "shank_l"
    assert rigid.next_below("trunk") == ""


def test_a_segment_is_smoothed_alone():
    """Protects the class: slow motion stays, fast motion of one segment goes, and nobody else changes."""
    scene = a_scene()
    slow, fast = (np.sin(2.0 * np.pi * f * scene.times)[:, None, None] for f in (0.3, 8.0))
    scene.positions[:] = 0.1 * slow + 0.1 * fast
    found = draw(rigid.segment_smoothed, 3, scene)
    own = np.flatnonzero((found.positions != scene.positions).any(axis=(0, 2)))
    assert len({GROUPS[m] for m in own}) == 1
    left = found.positions[:, own] - 0.1 * slow
    middle = slice(len(scene.times) // 4, 3 * len(scene.times) // 4)
    assert np.abs(left[middle]).max() < 0.005
