"""Muscles of a scan: their ends in the model's frame, tendons for the new paths, and what is refused."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.models.jaw.jaw_scan import frame_of
from rtsim.models.jaw.jaw_scan_muscles import with_muscles
from tests.rtsim.models.jaw.test_jaw_scan import SCAN, SPEC, in_scan

FRAME = frame_of(SCAN, "head.toml")
BY_NAME = {muscle.name: muscle for muscle in SPEC.muscles}


def ends(name: str, shift_mm=(0.0, 0.0, 0.0)) -> tuple[tuple[float, ...], ...]:
    """Ends of a shipped muscle in the scan, that on the mandible moved."""
    skull, jaw = (np.array(station.offset_mm) for station in BY_NAME[name].path)
    return in_scan(1e-3 * skull), in_scan(1e-3 * (jaw + shift_mm))


def landmarks(points) -> str:
    """The text of a landmark set."""
    rows = [" ".join(f"{x:.9e}" for x in point) + " " for point in points]
    head = f"# AmiraMesh 3D ASCII 2.0\n\ndefine Markers {len(points)}\n"
    return "\n".join((head, "# Data section follows", "@1", *rows, ""))


def test_the_shipped_ends_give_the_shipped_muscles(tmp_path) -> None:
    """Protects frames, units and the order of ends: by places, and by files that begin at the jaw."""
    given = {}
    for name in BY_NAME:
        if name.startswith("left"):
            given[name] = ends(name)
        else:
            (tmp_path / f"{name}.landmarkAscii").write_text(landmarks(ends(name)[::-1]))
            given[name] = f"{name}.landmarkAscii"
    found, notes = with_muscles(
        SPEC, msgspec.structs.replace(SCAN, muscles=given), FRAME, tmp_path / "head.toml"
    )
    assert len(notes) == len(SPEC.muscles)
    for muscle, shipped in zip(found.muscles, SPEC.muscles, strict=True):
        assert muscle.name == shipped.name
        for one, other in zip(muscle.path, shipped.path, strict=True):
            assert one.segment == other.segment
            np.testing.assert_allclose(one.offset_mm, other.offset_mm, atol=2e-3)
        assert muscle.hill.tendon_slack_length_mm == pytest.approx(
            shipped.hill.tendon_slack_length_mm, abs=5e-3
        )
        assert muscle.hill.optimal_fibre_length_mm == pytest.approx(shipped.hill.optimal_fibre_length_mm)


def test_a_tendon_fills_up_a_longer_path_and_gives_way_in_a_shorter_one(tmp_path) -> None:
    """Protects forces: fibres are where they were; where no tendon is left both are shortened alike."""
    name = "left_superficial_masseter"
    skull, jaw = (np.array(station.offset_mm) for station in BY_NAME[name].path)
    way, hill = (jaw - skull) / np.linalg.norm(jaw - skull), BY_NAME[name].hill
    for by, fibre, tendon in (
        (6.0, hill.optimal_fibre_length_mm, hill.tendon_slack_length_mm + 6.0),
        (-38.0, None, None),
    ):
        scan = msgspec.structs.replace(SCAN, muscles={name: ends(name, by * way)})
        found = {m.name: m for m in with_muscles(SPEC, scan, FRAME, tmp_path / "head.toml")[0].muscles}
        own, part = found[name].hill, 1.0 + by / np.linalg.norm(jaw - skull)
        fibre = fibre or part * hill.optimal_fibre_length_mm
        tendon = tendon or part * hill.tendon_slack_length_mm
        assert own.optimal_fibre_length_mm == pytest.approx(fibre, abs=5e-3)
        assert own.tendon_slack_length_mm == pytest.approx(tendon, abs=5e-3)
        assert own.max_isometric_force_N == hill.max_isometric_force_N
        assert found["right_superficial_masseter"] == BY_NAME["right_superficial_masseter"]


@pytest.mark.parametrize(("muscles", "told"), [
    ({"left_masseter": ends("left_geniohyoid")}, "left_masseter is not a muscle of the mandible"),
    ({"left_geniohyoid": (ends("left_geniohyoid")[0],) * 2}, "the ends of the muscle lie 0.0 mm apart"),
    ({"left_geniohyoid": "none.landmarkAscii"}, "none.landmarkAscii"),
    ({"left_geniohyoid": "three.landmarkAscii"}, "has 3 landmarks, but two are needed"),
    ({"left_geniohyoid": "words.landmarkAscii"}, "does not consist of three numbers"),
    ({"left_geniohyoid": "plain.landmarkAscii"}, "not an AmiraMesh ASCII file"),
    ({"left_geniohyoid": "far.landmarkAscii"}, "a landmark has a coordinate that is not a finite number"),
    ({"left_superficial_masseter": ends("right_superficial_masseter")}, "mm from that of the model mandible"),
])  # fmt: skip
def test_what_are_no_ends_of_the_muscle_is_refused(tmp_path, muscles, told) -> None:
    """Protects from other muscles, sides and files, in a sentence each."""
    (tmp_path / "three.landmarkAscii").write_text(landmarks([*ends("left_geniohyoid"), (0.0, 0.0, 0.0)]))
    (tmp_path / "words.landmarkAscii").write_text(landmarks([]) + "1.0 two 3.0\n4.0 5.0 6.0\n")
    (tmp_path / "far.landmarkAscii").write_text(landmarks([(1e300, 0.0, 0.0), (np.nan, 0.0, 0.0)]))
    (tmp_path / "plain.landmarkAscii").write_text("1 2 3\n4 5 6\n")
    scan = msgspec.structs.replace(SCAN, muscles=muscles)
    with pytest.raises(ConfigError, match=told):
        with_muscles(SPEC, scan, FRAME, tmp_path / "head.toml")
