"""What the pages of a report say where something is missing, or is not as it seems."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from msgspec import structs

from rtsim.files.markers.sides import doubt_sides
from rtsim.files.recording import Results
from rtsim.report.clinical.document import pages_of
from rtsim.report.clinical.drawing import BEFORE_DASHES, DASHES, Page
from rtsim.report.clinical.quality_page import trial_facts
from rtsim.report.clinical.session import trial_of
from rtsim.stages.poses.pose_steps import some_of
from rtsim.subjects.markers.sides import MIRROR, find_side
from streams.messages import FieldSpec
from tests.rtsim.methods.gait.test_cycles import SEGMENTS, SPEED
from tests.rtsim.methods.plates.test_pressure_place import of, walk
from tests.rtsim.report.clinical.made_up import gait_results, report_of
from tests.rtsim.report.clinical.test_page_words import words_of
from tests.rtsim.subjects.markers.test_sides import POINTS


def short(results: Results, n: int = 50) -> Results:
    """The first frames alone, in which there is no full stride."""
    fields = {name: values[:n] for name, values in results.fields.items()}
    return results._replace(times=results.times[:n], status=results.status[:n], fields=fields)


def labels_note() -> str:
    """The sentence on a file whose right ASIS is on the left."""
    places = np.array([[[0.1, 1.0, -0.1], [0.1, 1.0, 0.1], [-0.1, 1.0, 0.0]]])
    note = doubt_sides(["RASI", "LASI", "SACR"], places)
    assert note is not None
    return f"walk.c3d: {note}"


def axes_note() -> str:
    """The sentence on a leg that was taken as one of the other side."""
    mirrored = {role: MIRROR * x for role, x in POINTS.items()}
    (note,) = find_side(mirrored, "right", "walk.c3d").notes
    return f"walk.c3d: {note}"


@pytest.mark.parametrize("walks", [True, False])
def test_exchanged_sides_are_told_on_every_page(walks: bool) -> None:
    """Protects a patient from surgery on the wrong leg: sides that contradict the body stand on page 1."""
    for notes, by in (
        ([labels_note()], "from the labels."),
        ([labels_note(), axes_note()], "not from the labels."),
    ):
        results = gait_results(notes=notes)
        report = report_of(results if walks else short(results))
        for k in range(len(pages_of(report))):
            (line,) = [words for words in words_of(report, k) if words.startswith("Check the sides of")]
            assert "walk 1.c3d" in line
            assert line.endswith(by)
    assert not any("Check the sides" in line for line in words_of(report_of(gait_results())))


def test_trials_that_go_by_axes_and_by_labels_are_told_apart() -> None:
    """Protects a session in which one trial was mirrored and another was not."""
    report = report_of(gait_results(notes=[labels_note()]), gait_results(notes=[axes_note()]))
    (line,) = [words for words in words_of(report, 0) if words.startswith("Check the sides of")]
    assert line.endswith("from the axes in walk 2.c3d, from the labels in walk 1.c3d.")


def test_one_leg_alone_has_no_pelvis_of_the_other_side() -> None:
    """Protects pages of a right leg from curves and a legend of the left one, which was not solved."""
    results = short(gait_results(side="right"))
    report = report_of(results)
    page = pages_of(report)[0]
    pelvis = [panel for panel in page.panels if panel["title"].startswith("Pelvic")]
    assert len(pelvis) == 3
    assert all([series["name"] for series in panel["series"]] == ["right"] for panel in pelvis)


def test_a_walk_on_a_treadmill_says_why_it_has_no_lengths() -> None:
    """Protects the page of steps from leaving speed and lengths out without a word."""
    words = (
        "No speed, lengths and widths: a foot lands less than 20 cm from its last position, as on a treadmill"
    )
    on_floor = gait_results()
    along = on_floor.fields["segment_positions"][:, 0, [0, 2]]
    on_belt = dict(on_floor.fields)
    places = on_belt["segment_positions"].copy()
    for k in range(len(SEGMENTS)):
        places[:, k, [0, 2]] -= along
    on_belt["segment_positions"] = places
    assert float(np.ptp(along[:, 0])) > SPEED
    assert not any(words in line for line in words_of(report_of(on_floor)))
    assert any(words in line for line in words_of(report_of(on_floor._replace(fields=on_belt))))


def test_the_legend_has_no_band_where_there_is_none() -> None:
    """Protects moments of which one stride alone is complete from a band that is not drawn."""
    results = gait_results()
    cycles = report_of(results).now.trials[0].cycles
    first = {side: next(c for c in cycles if c.side == side) for side in ("right", "left")}
    until = max(cycle.end for cycle in first.values())
    for name in ("joint_moments", "joint_powers", "foot_loads"):
        results.fields[name][results.times > until + 0.2] = np.nan
    legends = [any("band: ± 1 SD" in line for line in words_of(report_of(results), page)) for page in (0, 1)]
    assert legends == [True, False]


def test_plates_that_do_not_fit_are_told_beside_the_moments() -> None:
    """Protects moments from plates, or a mass, that are off: page 2 says so, and the page of quality."""
    trial = trial_of(walk(of(1, 0.0, 0.06)), "walk.c3d")
    (doubt,) = trial.doubts
    assert "of second is shifted by 60 mm" in doubt
    assert doubt in trial.notes
    assert trial_of(walk(np.zeros((3, 2))), "walk.c3d").doubts == ()
    for results in (gait_results(), short(gait_results())):
        report = report_of(results)
        told = report.now.trials[0]._replace(doubts=(doubt,))
        report = report._replace(now=report.now._replace(trials=(told,)))
        page = next(
            k for k in range(9) if any("Internal joint moments" in line for line in words_of(report, k))
        )
        words = " ".join(words_of(report, page))
        assert f"Check force plates and mass: walk 1.c3d: {doubt[:60]}" in words
        assert "... The rest is on the quality page." in words


def test_angles_of_another_model_are_not_called_isb() -> None:
    """Protects the sign of a knee that bends to negative angles, as OpenSim's: they are the model's own."""
    results = short(gait_results(forces=False))
    assert any("angles: ISB" in line for line in words_of(report_of(results), 0))
    names = (
        "hip_flexion_r",
        "knee_angle_r",
        "ankle_angle_r",
        "hip_flexion_l",
        "knee_angle_l",
        "ankle_angle_l",
    )
    kept = [
        spec for spec in results.session.fields if spec.name in ("segment_positions", "segment_rotations")
    ]
    spec = FieldSpec("joint_angles", (6,), "rad", names)
    fields = {spec.name: results.fields[spec.name] for spec in kept}
    fields["joint_angles"] = results.fields["joint_angles"][:, :6]
    session = structs.replace(results.session, fields=(*kept, spec))
    words = words_of(report_of(results._replace(session=session, fields=fields)), 0)
    assert any("angles: coordinates of the model, with the signs of the model" in line for line in words)
    assert not any("ISB" in line for line in words)


@pytest.mark.parametrize(("force", "why"), [(0.0, "no foot on"), (500.0, "could not be computed")])
def test_a_page_of_forces_without_moments_says_why(force: float, why: str) -> None:
    """Protects a trial beside the plates from a page with one empty panel."""
    results = short(gait_results())
    results.fields["foot_loads"][:] = force
    for name in ("joint_moments", "joint_powers"):
        results.fields[name][:] = np.nan
    words = words_of(report_of(results), 1)
    assert any(line.startswith("There are no moments and powers") and why in line for line in words)


def test_flags_and_counts_of_notes_are_in_words() -> None:
    """Protects the page of quality from names with underlines, and from notes that are nowhere."""
    results = gait_results(notes=[f"a.c3d: lengths were converted to metres (factor 0.{k})" for k in (1, 2)])
    results.status[:3] = 8
    names = trial_facts(report_of(results).now.trials[0])
    assert "not converged 3" in dict(names)["frames"]
    words = " ".join(words_of(report_of(results)))
    assert "2 notes on units, axes and data that were left out (in the tables)" in words


def test_many_names_are_counted() -> None:
    """Protects a sentence on all angles of both legs from an end that is cut off."""
    assert some_of([f"hip_internal_rotation_{k}" for k in range(18)]).endswith("_3 and 14 more")
    assert some_of(["one", "two"]) == "one, two"


def heights(panel: dict, page: Page) -> tuple[float, float]:
    """Lowest and highest number beside the ordinate of a panel."""
    left, _, top, bottom = panel["box"]
    numbers = []
    for element in ElementTree.fromstring(page.svg()).iter():
        if element.tag.endswith("text") and element.get("text-anchor") == "end":
            x, y = float(element.get("x", "0")), float(element.get("y", "0"))
            if left - 20.0 < x < left and top < y < bottom + 20.0:
                numbers.append(float(element.text or "nan"))
    return min(numbers), max(numbers)


@pytest.mark.parametrize("walks", [True, False])
def test_a_session_that_is_flagged_is_in_the_picture(walks: bool) -> None:
    """Protects an overlay: a flagged session is not cut off by the ordinate of the other, and one that
    is no measurement does not squash it.
    """
    knees = {}
    for offset in (0.0, 20.0, 900.0):
        results = gait_results()
        angles = results.fields["joint_angles"]
        if walks:
            angles[:] = np.radians(10.0 + 10.0 * np.sin(2.0 * np.pi * results.times / 1.1))[:, None]
            now = gait_results()
            now.fields["joint_angles"][:] = angles + np.radians(offset)
            now.status[:] = 8
            report = report_of(now, before=results)
        else:
            angles[:] = np.radians(10.0 + 10.0 * np.sin(results.times * 20.0))[:, None]
            angles[20:] += np.radians(offset)
            results.status[20:] = 8
            report = report_of(short(results))
        page = pages_of(report)[0]
        panel = next(panel for panel in page.panels if panel["title"] == "Knee flexion")
        knees[offset] = heights(panel, page)
    assert knees[20.0][1] >= knees[0.0][1] + 10.0
    assert knees[900.0][1] <= 70.0


def test_sessions_and_sides_are_told_apart_without_colour() -> None:
    """Protects a grey print of an overlay: each side of each session has a line of its own, and a word."""
    assert len({*DASHES.values(), *BEFORE_DASHES.values()}) == 4
    report = report_of(gait_results(), before=gait_results(seed=2))
    page = pages_of(report)[0]
    used = {element.get("stroke-dasharray") for element in ElementTree.fromstring(page.svg()).iter()}
    assert {DASHES["left"], *BEFORE_DASHES.values()} <= used
    assert any("dotted (left side dash-dotted): before" in line for line in words_of(report, 0))
