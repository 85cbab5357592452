"""What is refused is told by its first reason: another marker set's map, or the wrong axis up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rtsim.errors import ConfigError
from rtsim.files.markers.markers import write_trc
from rtsim.files.markers.trial import MarkerTrial, with_axis_told
from rtsim.subjects.calibration.calibration import subject_for

Person = Callable[..., MarkerTrial]


@pytest.mark.parametrize("side", ["", "right", "both"])
@pytest.mark.parametrize("lab", ["cgm1", "opencap"])
def test_the_map_of_another_marker_set_is_told_with_one_that_fits(
    person: Person, lab: str, side: str
) -> None:
    """Protects who names the wrong map: file, what is missing, which map fits, and what to do."""
    trial = person()
    with pytest.raises(ConfigError) as refused:
        subject_for(trial, side=side, lab=lab)
    fault = refused.value
    assert fault.where == Path(trial.source).name
    assert f"markers of the map {lab}: " in fault.what
    assert fault.remedy == "give --lab bmc, or leave --lab out"


def test_a_wrong_axis_up_comes_before_what_follows_from_it(person: Person, tmp_path: Path) -> None:
    """Protects who gave a wrong --up from being told that right and left are exchanged."""
    trial = person()
    write_trc(tmp_path / "walk.trc", trial)
    write_trc(tmp_path / "static.trc", trial)
    with pytest.raises(
        ConfigError, match=r"check the up axis: --up states -Y, but pelvis and trunk"
    ) as refused:
        subject_for(tmp_path / "walk.trc", tmp_path / "static.trc", side="right", up="-Y")
    assert str(tmp_path / "walk.trc") in str(refused.value.where)
    assert subject_for(tmp_path / "walk.trc", tmp_path / "static.trc", side="right", up="Y").segments


def test_an_axis_that_was_found_is_no_reason(person: Person) -> None:
    """Protects other refusals from the sentence on a file whose word was not taken."""
    fault = ConfigError("another reason")
    found = person()._replace(
        notes=("check the up axis: the file states the up axis +Z, but: +Y was used as the up axis; give it",)
    )
    assert with_axis_told(fault, found, None) is fault
