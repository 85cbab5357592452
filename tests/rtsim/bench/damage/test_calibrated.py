"""A marker that is off in the static trial: another subject is calibrated, and what is told before counts."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.damage.kinds.calibrated import static_marker_off
from benchmarks.damage.persons import RecordedPerson
from benchmarks.damage.scores import score
from benchmarks.damage.solving import solve
from rtsim.files.markers.markers import write_trc
from rtsim.files.markers.trial import MarkerTrial


@pytest.fixture(scope="module")
def person(tmp_path_factory) -> RecordedPerson:
    """A made-up walker with a static trial of the same labels: its own first frame, all markers there."""
    folder = tmp_path_factory.mktemp("walker")
    walk = RecordedPerson(None, "walker", "right").trial
    write_trc(folder / "walk.trc", walk._replace(source="walk.trc"))
    still = MarkerTrial(
        walk.names, walk.times[:30], walk.positions[:1].repeat(30, axis=0), walk.rate, "static"
    )
    write_trc(folder / "static.trc", still)
    return RecordedPerson(folder, "walk.trc", "right")


def test_it_moves_the_angles_of_another_subject_and_leaves_the_person_as_it_was(person):
    """Protects the class: the same recording, solved by a subject of the displaced trial."""
    person.use("minimised")
    scene = person.scene(0)
    few = scene._replace(positions=scene.positions[:40], times=scene.times[:40])
    assert len(scene.calibrated) > 10
    found = static_marker_off(np.random.default_rng(0), few)._replace(misplaced="RMED", by=(0.0, 0.04, 0.0))
    if "RMED" not in few.calibrated:
        found = found._replace(misplaced=few.calibrated[0])
    clean = solve(person, few)
    other = person.damaged(found)
    other.use("minimised")
    damaged = solve(other, few, found)
    assert np.nanmax(np.abs(damaged.angles - clean.angles)) > np.radians(0.5)
    np.testing.assert_array_equal(solve(person, few).angles, clean.angles)
    assert person.damaged(found._replace(misplaced="")) is person


def test_what_is_told_before_the_first_frame_is_told_of_all_frames(person):
    person.use("minimised")
    few = person.scene(0)
    few = few._replace(positions=few.positions[:40], times=few.times[:40])
    clean = solve(person, few)
    damage = static_marker_off(np.random.default_rng(0), few)
    off = clean._replace(angles=clean.angles + np.radians(20.0))
    silent, told = (score(off, clean, damage, few, told=told) for told in (False, True))
    assert silent.n_missed == silent.n_wrong > 0
    assert (told.n_missed, told.n_wrong) == (0, silent.n_wrong)


def test_a_warning_counts_where_the_clean_calibration_has_none_like_it(person):
    """Numbers and files do not make a note another one; notes without `check` are no warning."""
    other = object.__new__(RecordedPerson)
    other.notes = (*person.notes, "elsewhere.trc: check the shank: 12.5 mm apart")
    again = object.__new__(RecordedPerson)
    again.notes = (*person.notes, "static.trc: check the shank: 11 mm apart", "another unit was taken")
    assert other.warns_more_than(person)
    assert not again.warns_more_than(other)
    assert not person.warns_more_than(other)
