"""Subject files: what is written is what is read."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtsim.config.load import check_record, parse_toml
from rtsim.config.paths import find_config
from rtsim.errors import ConfigError
from rtsim.subjects.calibration.natural import Segment
from rtsim.subjects.subject import (
    Subject,
    SubjectSegment,
    load_subject,
    save_subject,
    subject_segment,
    subject_text,
)

names = st.text(st.characters(codec="utf-8"), max_size=12)
finite = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(min_value=0.0, exclude_min=True, allow_infinity=False)
points = st.dictionaries(names, st.tuples(finite, finite, finite), max_size=4)
segments = st.builds(
    SubjectSegment,
    length_mm=positive,
    alpha_deg=positive,
    beta_deg=positive,
    gamma_deg=positive,
    markers_mm=points,
    points_mm=points,
)
subjects = st.builds(
    Subject,
    name=names,
    source=names,
    segments=st.dictionaries(names, segments, min_size=1, max_size=3),
    side=st.sampled_from(["right", "left"]),
    hip_regression=names,
    n_frame=st.integers(0, 2**63 - 1),
    ligament_mean_mm=st.dictionaries(names, positive, max_size=4),
    notes=st.lists(names, max_size=3).map(tuple),
    mass_kg=st.none() | positive,
    stature_mm=st.none() | positive,
    sex=st.sampled_from(["female", "male", ""]),
)


def read(text: str) -> Subject:
    return check_record(parse_toml(text, "subject.toml"), Subject, "subject.toml")


@settings(max_examples=100, deadline=None, derandomize=True)
@given(subject=subjects)
def test_a_subject_survives_its_file(subject):
    """Protects calibrations: any name, any finite number, to the last bit."""
    assert read(subject_text(subject)) == subject


def test_the_shipped_subject_survives_its_file(tmp_path):
    """Protects the file on the disk, not only its text."""
    subject = load_subject(find_config("walker", "subjects"))
    save_subject(tmp_path / "again.toml", subject)
    assert load_subject(tmp_path / "again.toml") == subject


def test_a_subject_in_numbers_of_numpy_survives():
    """Protects calibration results, which come as NumPy numbers in SI."""
    markers = {"RTH1": np.array([0.0577, -0.1911, 0.0327])}
    record = subject_segment(
        Segment(np.float64(0.42), np.float64(1.5), np.float64(1.6), np.float64(1.57)), markers, {}
    )
    subject = Subject(name="s", source="t", segments={"thigh": record})
    again = read(subject_text(subject))
    assert again == subject
    assert again.segments["thigh"].markers_mm["RTH1"] == pytest.approx((57.7, -191.1, 32.7))
    assert again.segments["thigh"].segment().alpha == pytest.approx(1.5)


def test_an_unwritable_place_is_told(tmp_path):
    """Protects the end of a calibration: a sentence, not a traceback."""
    with pytest.raises(ConfigError, match="cannot be written"):
        save_subject(tmp_path / "nowhere" / "subject.toml", Subject(name="s", source="t", segments={}))


def test_a_number_that_is_none_is_not_written():
    """Protects against files that cannot be read again: a marker that was never seen has no place."""
    record = SubjectSegment(400.0, 90.0, 90.0, 90.0, {"RTH1": (math.nan, 0.0, 0.0)})
    with pytest.raises(ConfigError, match="RTH1"):
        subject_text(Subject(name="s", source="t", segments={"thigh": record}))


def test_markers_come_segment_by_segment():
    """Protects the order of markers, which the whole pipeline relies on."""
    subject = load_subject(find_config("walker", "subjects"))
    assert subject.marker_names[:5] == ("RASI", "LASI", "RPSI", "LPSI", "RGTR")
    assert len(set(subject.marker_names)) == len(subject.marker_names) == 17
