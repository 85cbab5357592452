"""Markers beside knees and ankles, as the segment below has them."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rtsim.subjects.calibration.calibration import subject_for
from rtsim.subjects.markers.beside import beside_joints
from rtsim.subjects.markers.distances import ruler_of_subject
from tests.rtsim.subjects.conventional.persons import person


@pytest.fixture(scope="module", params=["right", "left", "both"])
def someone(request):
    """Somebody in the markers of Plug-in Gait, with a static trial."""
    return subject_for(person(source="walk.c3d", speed=0.02), person(), side=request.param)


def test_places_are_where_the_markers_stood(someone):
    """Protects the place of the malleolus on the foot and of the epicondyle on the shank: distances to the
    markers of that segment are those of the static trial, on either side."""
    static = person()
    found = beside_joints(someone)
    assert {one.marker[1:] for one in found} == {"KNE", "ANK"}
    for one in found:
        for name, x in someone.segments[one.distal].markers_mm.items():
            seen = static.positions[:, static.names.index(one.marker)]
            seen = seen - static.positions[:, static.names.index(name)]
            apart = float(np.linalg.norm(one.place - 1e-3 * np.array(x)))
            assert apart == pytest.approx(float(np.linalg.norm(seen, axis=1).mean()), abs=2e-3)


def test_who_did_not_stand_has_none(someone):
    """Protects from guesses: calibrated from a walk, nobody knows how the foot stood under the shank."""
    segments = {
        name: msgspec.structs.replace(segment, in_parent_deg=None)
        for name, segment in someone.segments.items()
    }
    assert beside_joints(msgspec.structs.replace(someone, segments=segments)) == ()


def test_a_marker_far_from_the_joint_is_none_beside_it(someone):
    """Protects from wands: what is far from a joint's axis moves on the segment below."""
    far = {name: one for name, one in someone.segments.items() if name.startswith("shank")}
    segments = dict(someone.segments)
    for name, one in far.items():
        kept = {marker: x for marker, x in one.markers_mm.items() if marker.endswith("TIB")}
        segments[name] = msgspec.structs.replace(one, markers_mm=kept)
    found = beside_joints(msgspec.structs.replace(someone, segments=segments))
    assert found
    assert all(one.marker.endswith("KNE") for one in found)
    assert len(found) == len(
        {joint.distal for joint in ruler_of_subject(someone).joints if joint.distal in far}
    )
