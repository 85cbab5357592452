"""Every class of damage: the same by the same seed, in its frames alone, and what it says."""

import numpy as np
import pytest

from benchmarks.damage.kinds import (
    calibrated,
    exchanged,
    find_kinds,
    frozen,
    missing,
    moved,
    noise,
    phantoms,
    rigid,
    timing,
)
from tests.rtsim.bench.damage.drawn import GROUPS, NAMES, SEEDS, a_scene, changed, draw, shifts

KINDS = find_kinds()


def test_there_are_the_classes_that_were_asked_for():
    assert len(KINDS) >= 20
    assert all(name == kind.name for name, kind in KINDS.items())


@pytest.mark.parametrize("name", KINDS)
def test_it_is_the_same_by_the_same_seed_and_another_by_another(name):
    first, again = draw(KINDS[name].damage, 5), draw(KINDS[name].damage, 5)
    np.testing.assert_array_equal(first.positions, again.positions)
    np.testing.assert_array_equal(first.times, again.times)
    np.testing.assert_array_equal(first.kept, again.kept)
    assert first[3:] == again[3:]
    if name == "quantised":
        return  # nothing in it is drawn
    others = [draw(KINDS[name].damage, seed) for seed in SEEDS]
    assert any(
        changed(other).tolist() != changed(first).tolist()
        or not np.array_equal(other.times, first.times)
        or other.kept.tolist() != first.kept.tolist()
        or not np.array_equal(other.positions, first.positions, equal_nan=True)
        or other.what != first.what
        for other in others
    )


@pytest.mark.parametrize("name", KINDS)
def test_it_changes_its_own_frames_and_no_other(name):
    for seed in SEEDS:
        scene = a_scene()
        found = draw(KINDS[name].damage, seed, scene)
        np.testing.assert_array_equal(scene.positions, a_scene().positions)
        np.testing.assert_array_equal(scene.times, a_scene().times)
        assert 0 <= found.first < found.stop <= scene.n_frame
        touched = np.flatnonzero(changed(found).any(axis=1))
        if name in ("time_jitter", "time_stretched", "frames_dropped", "static_marker_off"):
            assert not touched.size
            continue
        assert touched.size
        assert touched.min() >= found.first
        assert touched.max() < found.stop
        assert found.kept.tolist() == list(range(scene.n_frame))
        np.testing.assert_array_equal(found.times, scene.times)


@pytest.mark.parametrize(
    ("damage", "seconds", "n_marker"),
    [
        (missing.marker_missing, 0.5, 1),
        (missing.marker_missing_throughout, 2.0, 1),
        (missing.two_of_segment_missing, 0.5, 2),
        (missing.segment_missing, 0.5, 3),
        (missing.pelvis_missing, 0.5, 3),
        (missing.thigh_and_shank_missing, 0.5, 6),
        (missing.all_missing, 0.2, 11),
    ],
)
def test_so_many_markers_are_missing_for_so_long(damage, seconds, n_marker):
    for seed in SEEDS:
        found = draw(damage, seed)
        gone = np.isnan(found.positions).any(axis=2)
        assert found.stop - found.first == round(100 * seconds)
        assert (gone[found.first : found.stop].sum(axis=1) == n_marker).all()
        assert gone.sum() == n_marker * (found.stop - found.first)
        for m in np.flatnonzero(gone.any(axis=0)):
            assert NAMES[m] in found.what


def test_two_of_a_segment_and_thigh_with_shank_belong_together():
    for seed in SEEDS:
        gone = np.isnan(draw(missing.two_of_segment_missing, seed).positions).any(axis=(0, 2))
        assert len({GROUPS[m] for m in np.flatnonzero(gone)}) == 1
    gone = np.isnan(draw(missing.thigh_and_shank_missing).positions).any(axis=(0, 2))
    assert {GROUPS[m] for m in np.flatnonzero(gone)} == {"thigh", "shank"}
    gone = np.isnan(draw(missing.pelvis_missing).positions).any(axis=(0, 2))
    assert {GROUPS[m] for m in np.flatnonzero(gone)} == {"pelvis"}


@pytest.mark.parametrize(("damage", "part"), [(missing.many_missing, 0.6), (missing.flicker, 0.1)])
def test_so_many_samples_are_missing(damage, part):
    found = draw(damage)
    gone = np.isnan(found.positions).any(axis=2)[found.first : found.stop]
    assert gone.shape[0] == 100
    assert gone.mean() == pytest.approx(part, abs=4.0 * np.sqrt(part * (1.0 - part) / gone.size))


def test_frozen_markers_have_the_place_of_the_frame_before():
    for seed in SEEDS:
        found = draw(frozen.segment_frozen, seed)
        still = np.flatnonzero(changed(found).any(axis=0))
        assert found.stop - found.first == 100
        assert {GROUPS[m] for m in still} in ({"pelvis"}, {"thigh"}, {"shank"})
        before = a_scene().positions[found.first - 1, still]
        for k in range(found.first, found.stop):
            np.testing.assert_array_equal(found.positions[k, still], before)
    assert changed(draw(frozen.marker_frozen)).any(axis=0).sum() == 1


def test_a_marker_freezes_where_it_was_last_seen():
    scene = a_scene()
    scene.positions[38:90] = np.nan
    scene.positions[38:90, 0] = 0.0  # all others are unseen
    found = next(f for f in (draw(frozen.marker_frozen, s, scene) for s in range(50)) if "RASI" not in f.what)
    marker = NAMES.index(found.what.split()[0])
    np.testing.assert_array_equal(found.positions[found.first, marker], scene.positions[37, marker])


@pytest.mark.parametrize(
    ("damage", "size", "n_marker", "n_frame"),
    [
        (moved.marker_jump_30mm, 0.03, 1, 20),
        (moved.marker_jump_60mm, 0.06, 1, 20),
        (moved.marker_jump_200mm, 0.2, 1, 20),
        (moved.marker_moved_on_skin, 0.03, 1, None),
        (rigid.cluster_bumped, 0.02, 3, None),
    ],
)
def test_markers_are_so_far_away(damage, size, n_marker, n_frame):
    for seed in SEEDS:
        found = draw(damage, seed)
        away = shifts(found)
        assert found.stop == (found.first + n_frame if n_frame else 200)
        assert ((away > 0.0).sum(axis=1) == n_marker).all()
        np.testing.assert_allclose(away[away > 0.0], size, rtol=1e-9)


def test_a_marker_begins_displaced():
    for seed in SEEDS:
        found = draw(moved.begins_displaced, seed)
        away = shifts(found)
        assert (found.first, found.stop) == (0, 30)
        assert (away > 0.0).sum() == 30
        np.testing.assert_allclose(away[away > 0.0], 0.1, rtol=1e-9)


def test_a_marker_is_put_on_anew():
    """Protects the class: one marker, off in all frames alike, only where there is a static trial."""
    for seed in SEEDS:
        found = draw(moved.marker_put_on_anew, seed)
        away = shifts(found)
        assert (found.first, found.stop, (away > 0.0).any(axis=0).sum()) == (0, 200, 1)
        np.testing.assert_allclose(away[away > 0.0], 0.04, rtol=1e-9)
        assert (away > 0.0).sum() == 200
    assert draw(moved.marker_put_on_anew, 0, a_scene()._replace(calibrated=())) is None


def test_a_label_of_the_static_trial_is_off_there_and_nowhere_else():
    for seed in SEEDS:
        found = draw(calibrated.static_marker_off, seed)
        assert found.misplaced in ("RASI", "RMED")
        assert np.linalg.norm(found.by) == pytest.approx(0.02) or np.linalg.norm(found.by) == pytest.approx(
            0.04
        )
    assert draw(calibrated.static_marker_off, 0, a_scene()._replace(calibrated=())) is None


def test_every_other_frame_is_the_one_before_it():
    found = draw(timing.frames_repeated)
    inside = range(found.first, found.stop, 2)
    for k in inside:
        np.testing.assert_array_equal(found.positions[k], a_scene().positions[k - 1])
    assert np.flatnonzero(changed(found).any(axis=1)).tolist() == list(inside)


def test_a_spike_is_one_frame_of_one_marker():
    for seed in SEEDS:
        away = shifts(draw(moved.spike, seed))
        assert away.shape[0] == 1
        assert (away > 0.0).sum() == 1
        assert 0.1 <= away.max() <= 0.5


@pytest.mark.parametrize(("damage", "speed"), [(moved.marker_slides, 0.2), (moved.marker_drifts, 0.02)])
def test_a_marker_slides_at_its_speed_and_in_one_direction(damage, speed):
    found = draw(damage, 3)
    away = shifts(found)
    marker = int(np.flatnonzero(away.any(axis=0))[0])
    np.testing.assert_allclose(away[:, marker], speed * 0.01 * np.arange(1, len(away) + 1), rtol=1e-9)
    assert found.stop == (found.first + 50 if damage is moved.marker_slides else 200)


@pytest.mark.parametrize(
    ("damage", "deviation", "n_marker"),
    [
        (noise.marker_noise_5mm, 0.005, 1),
        (noise.marker_noise_20mm, 0.02, 1),
        (noise.marker_noise_40mm, 0.04, 1),
        (noise.noise_on_all_3mm, 0.003, 11),
        (noise.noise_on_all_5mm, 0.005, 11),
    ],
)
def test_noise_has_its_standard_deviation(damage, deviation, n_marker):
    found = draw(damage)
    touched = changed(found).any(axis=0)
    assert touched.sum() == n_marker
    off = (found.positions - a_scene().positions)[found.first : found.stop, touched]
    assert off.shape[0] == 100
    assert off.std() == pytest.approx(deviation, rel=4.0 / np.sqrt(2.0 * off.size))
    assert abs(off.mean()) < 4.0 * deviation / np.sqrt(off.size)


def test_quantised_coordinates_are_whole_millimetres():
    found = draw(noise.quantised)
    millimetres = 1e3 * found.positions
    np.testing.assert_allclose(millimetres, np.round(millimetres), atol=1e-9)
    assert np.abs(found.positions - a_scene().positions).max() <= 0.0005 + 1e-12


@pytest.mark.parametrize(
    ("damage", "n", "n_frame"),
    [
        (exchanged.pair_exchanged, 2, 50),
        (exchanged.pair_exchanged_across, 2, 50),
        (exchanged.ring_of_three, 3, 50),
        (exchanged.ring_of_segment, 3, 50),
        (exchanged.pair_exchanged_throughout, 2, 200),
        (exchanged.ring_of_segment_throughout, 3, 200),
    ],
)
def test_so_many_labels_are_on_each_others_markers(damage, n, n_frame):
    for seed in SEEDS:
        found = draw(damage, seed)
        touched = np.flatnonzero(changed(found).any(axis=0))
        assert len(touched) == n
        assert found.stop - found.first == n_frame
        segments = {GROUPS[m] for m in touched}
        assert len(segments) == (2 if damage is exchanged.pair_exchanged_across else 1)
        for k in (found.first, found.stop - 1):
            before = a_scene().positions[k, touched]
            places = [int(np.flatnonzero((before == x).all(axis=1))[0]) for x in found.positions[k, touched]]
            assert sorted(places) == list(range(n))
            assert all(place != own for own, place in enumerate(places))


def test_the_first_frames_have_all_labels_of_the_subject_shuffled():
    found = draw(exchanged.shuffled_at_first)
    assert (found.first, found.stop) == (0, 5)
    before, after = a_scene().positions[:5], found.positions[:5]
    np.testing.assert_array_equal(after[:, 9:], before[:, 9:])
    np.testing.assert_array_equal(np.sort(after[:, :9], axis=1), np.sort(before[:, :9], axis=1))


def test_sides_are_exchanged_by_the_names_of_the_labels():
    found = draw(exchanged.sides_exchanged)
    inside, before = slice(found.first, found.stop), a_scene().positions
    np.testing.assert_array_equal(found.positions[inside, [0, 1]], before[inside, [1, 0]])
    np.testing.assert_array_equal(found.positions[inside, NAMES.index("RKNE")], before[inside, 9])
    assert changed(found).any(axis=0).sum() == 4
    assert exchanged.opposite("r.ASIS", ("L.ASIS", "r.ASIS")) == 0
    assert exchanged.opposite("L_calc", ("r_calc", "L_calc")) == 0
    assert exchanged.opposite("STRN", ("LTRN", "STRN")) == -1
    alone = a_scene()._replace(names=tuple("ABCDEFGHIJK"))
    assert draw(exchanged.sides_exchanged, 0, alone) is None


def test_a_phantom_is_at_another_marker_in_single_frames():
    found = draw(phantoms.phantom_at_other)
    wrong = changed(found)
    marker = int(np.flatnonzero(wrong.any(axis=0))[0])
    other = NAMES.index(found.what.split(" at ")[1])
    assert wrong.any(axis=0).sum() == 1
    assert wrong.sum() < 25
    frames = np.flatnonzero(wrong.any(axis=1))
    assert (frames[0], frames[-1]) == (found.first, found.stop - 1)
    np.testing.assert_array_equal(found.positions[frames, marker], a_scene().positions[frames, other])


def test_a_phantom_in_the_volume_stays_inside_it():
    found, before = draw(phantoms.phantom_in_volume), a_scene().positions
    wrong = changed(found)
    assert wrong.any(axis=0).sum() == 1
    assert wrong.sum() < 25
    assert (found.positions[wrong] >= before.min(axis=(0, 1))).all()
    assert (found.positions[wrong] <= before.max(axis=(0, 1))).all()


def test_times_are_off_by_less_than_half_a_frame_and_stay_in_order():
    off = draw(timing.time_jitter).times - a_scene().times
    assert 0.002 < np.abs(off).max() <= 0.003 + 1e-12
    assert (np.diff(draw(timing.time_jitter).times) > 0.0).all()


def test_dropped_frames_are_not_sent_and_the_next_one_is_the_damage():
    found = draw(timing.frames_dropped)
    assert len(found.kept) == 180
    dropped = sorted(set(range(200)) - set(found.kept.tolist()))
    assert dropped == list(range(found.first - 20, found.first))
    assert found.stop == found.first + 1


def test_frames_come_backwards_and_the_rest_stays():
    """Protects the class: 0.3 s in the opposite order."""
    found, before = draw(timing.played_backwards), a_scene().positions
    inside = slice(found.first, found.stop)
    assert found.stop - found.first == 30
    np.testing.assert_array_equal(found.positions[inside], before[inside][::-1])
    assert not np.delete(changed(found), np.arange(200)[inside], axis=0).any()


def test_a_scene_that_cannot_be_damaged_so_is_left_alone():
    lonely = a_scene()._replace(groups=("thigh", *("",) * 10))
    for damage in (missing.two_of_segment_missing, missing.pelvis_missing, exchanged.ring_of_segment,
                   exchanged.pair_exchanged_across, rigid.cluster_bumped):  # fmt: skip
        assert draw(damage, 0, lonely) is None


def test_markers_that_are_hardly_seen_are_not_chosen():
    scene = a_scene()
    scene.positions[:150, :8] = np.nan
    assert scene.usable == [8]
    assert scene.segments() == {"shank": [8]}
    assert all("RSHN" in draw(missing.marker_missing, seed, scene).what for seed in SEEDS)
