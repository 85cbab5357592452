"""What the pages of a report say: counts of strides, sources, notes, names, scores beside earlier ones."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from msgspec import structs

from rtsim.cli.commands.report import person_of
from rtsim.report.clinical.curve_pages import kinematic_pages, kinetic_pages
from rtsim.report.clinical.document import pages_of
from rtsim.report.clinical.drawing import Page
from rtsim.report.clinical.letters import cut, short_name, width_of
from rtsim.report.clinical.quality_page import in_words
from rtsim.report.clinical.report import GaitReport
from rtsim.report.clinical.session import trial_of
from rtsim.report.clinical.tables import tables_of
from tests.rtsim.report.clinical.made_up import gait_results, report_of


def words_of(report: GaitReport, number: int | None = None) -> list[str]:
    """All lines of text, of a page from 0 or of all."""
    pages = pages_of(report)
    chosen = pages if number is None else [pages[number]]
    return [
        e.text or "" for page in chosen for e in ElementTree.fromstring(page.svg()).iter()
        if e.tag.endswith("text")
    ]  # fmt: skip


def test_a_stride_that_ends_half_way_is_left_out_counted_and_drawn() -> None:
    """Protects means from a jump where a stride ends, and a reader from not knowing of how many they are."""
    results = gait_results()
    angles = results.fields["joint_angles"]
    whole = report_of(results)
    n = len(whole.kinematics["now"][6].strides["right"])
    cycle = [cycle for cycle in whole.now.trials[0].cycles if cycle.side == "right"][-1]
    angles[(results.times > cycle.strike + 0.5) & (results.times < cycle.end), 3] = np.nan
    report = report_of(results)
    knee = report.kinematics["now"][6]
    assert knee.name == "knee_flexion"
    assert knee.n_averaged("right") == n - 1
    assert np.isfinite(knee.mean("right")).all()
    assert len(knee.strides["right"]) == n
    assert f"strides in the mean: right {n - 1} of {n}" in words_of(report, 0)
    assert not any("strides in the mean" in line for line in words_of(whole, 0))
    means = next(table for table in tables_of(report) if table.name == "means")
    assert {row[-1] for row in means.rows if row[1] == "right" and row[3] == "knee_flexion"} == {n - 1}


@pytest.mark.parametrize(
    ("method", "field", "wanted", "other"),
    [
        ("zero", "knee_displacements", "Sancisi", "Lu and"),
        ("hinge", "knee_displacements", "Lu and", "Sancisi"),
        ("default", "", "Lu and", "Sancisi"),
    ],
)
def test_the_sources_are_those_of_the_run(method: str, field: str, wanted: str, other: str) -> None:
    """Protects a page from citing a knee that the run does not have, or plates that were not there."""
    results = gait_results(forces=False, method=method)
    if field:
        results = results._replace(fields={**results.fields, field: np.zeros((600, 3))})
    text = " ".join(words_of(report_of(results)))
    assert wanted in text
    assert other not in text
    assert "conventional gait model: Kadaba" not in text
    assert "force plates, from 20 N on" not in text
    assert "force plates, from 20 N on" in " ".join(words_of(report_of(gait_results())))


def test_a_recruited_run_cites_recruitment() -> None:
    """Protects the sources of muscle forces, and of force-dependent kinematics and the foot's contact."""
    results = gait_results()
    more = {name: np.zeros((600, 1)) for name in ("muscle_activations", "fdk_forces", "foot_contact_forces")}
    text = " ".join(words_of(report_of(results._replace(fields={**results.fields, **more}))))
    for words in ("Muscle recruitment", "Force-dependent kinematics", "Brown (2017)"):
        assert words in text


def test_notes_that_say_something_are_not_crowded_out() -> None:
    """Protects the notes that matter from how files were read, of which there may be a dozen."""
    routine = [
        f"{file}.c3d: lengths were converted to metres (factor 0.{k})" for file in "ab" for k in range(8)
    ]
    text = " ".join(words_of(report_of(gait_results(notes=[*routine, "a.c3d: check the foot", "no colon"]))))
    assert "check the foot" in text
    assert "no colon" in text
    assert "a.c3d: 8 notes on units" in text
    assert "more notes are in the tables" not in text
    assert "1 trial " in f"{text} "


def test_scores_now_and_before_stand_apart() -> None:
    """Protects the numbers of the profile: each in its own column, none behind the mark of the other."""
    report = report_of(gait_results(), before=gait_results(seed=2), norms=True)
    page = next(p for p in pages_of(report) if "Movement analysis profile" in p.svg())
    texts = [e for e in ElementTree.fromstring(page.svg()).iter() if e.tag.endswith("text") and e.text]
    old = [e for e in texts if (e.text or "").startswith("(") and (e.text or "").endswith(")")]
    score = report.scores["now"].profile["left"]["knee_flexion"]
    now = [e for e in texts if e.text == f"{score:.1f}"]
    assert len(old) == 20
    assert len({e.get("x") for e in old}) == 1
    assert now
    assert float(now[-1].get("x", "0")) < float(old[0].get("x", "0")) - 60.0


def test_a_name_is_the_recordings_own_before_the_static_files() -> None:
    """Protects the person's name: of the C3D, else of its labels or --person, else of the subject's file."""
    names = {"subject_name": "HC 002.D", "person": "Anna", "subject": "folder/anna_static.toml"}
    trial = trial_of(gait_results(**names), "walk.c3d")
    assert person_of((trial,)) == "HC 002.D"
    del names["subject_name"]
    assert person_of((trial_of(gait_results(**names), "walk.c3d"),)) == "Anna"
    del names["person"]
    assert person_of((trial_of(gait_results(**names), "walk.c3d"),)) == "anna_static"
    assert person_of((trial_of(gait_results(), "walk.c3d"),)) == "name of the person not given (--name)"


@pytest.mark.parametrize(
    "kept", [{"source": "lab/walk1.trc"}, {"source": "w.trc", "static": "lab/walk1.c3d"}]
)
def test_a_trial_is_no_name(kept) -> None:
    """Protects the head of all pages from the name of the file in which somebody was measured."""
    trial = trial_of(gait_results(subject="walk1", **kept), "walk")
    assert person_of((trial,)) == "name of the person not given (--name)"
    assert person_of((trial_of(gait_results(subject="Anna", **kept), "walk"),)) == "Anna"


def test_joints_are_named_in_words() -> None:
    """Protects the page of quality from names of a program: sides in full, before what they are of."""
    assert in_words(["hip_internal_rotation_r", "hip_internal_rotation_l", "trunk_bending"]) == [
        "right hip internal rotation", "left hip internal rotation", "trunk bending",
    ]  # fmt: skip


def test_titles_are_smaller_rather_than_cut() -> None:
    """Protects the title of a page that goes on from an ellipsis, and words from being cut inside."""
    page = Page()
    title = "Gait report: quality and settings, continued"
    page.text(0.0, 0.0, title, 43.0, room=1000.0)
    assert title in page.svg()
    assert "\N{HORIZONTAL ELLIPSIS}" not in page.svg()
    assert (
        cut("one two three four", width_of("one two three", 10.0), 10.0) == "one two\N{HORIZONTAL ELLIPSIS}"
    )
    room = width_of("onevery\N{HORIZONTAL ELLIPSIS}", 10.0)
    assert cut("oneverylongword", room, 10.0) == "onevery\N{HORIZONTAL ELLIPSIS}"


def test_the_legend_of_a_page_has_the_sides_that_it_draws() -> None:
    """Protects a page of one leg's muscles from a legend of a side that is not there."""
    report = report_of(gait_results())
    right = [curve._replace(strides={"right": curve.strides["right"]}) for curve in report.kinetics["now"]]
    ((_, page),) = kinetic_pages(report._replace(kinetics={"now": right}))
    words = [e.text for e in ElementTree.fromstring(page.svg()).iter() if e.tag.endswith("text")]
    assert "right" in words
    assert "left" not in words


def test_flagged_frames_do_not_squash_a_panel() -> None:
    """Protects what is sound from values that are no measurement: the ordinate is that of sound values."""
    results = gait_results()
    results.fields["joint_angles"][250:260, 3] = 50.0
    flagged = results.status.copy()
    flagged[245:265] = 8
    ((_, page),) = kinematic_pages(report_of(results._replace(status=flagged)))
    words = [e.text or "" for e in ElementTree.fromstring(page.svg()).iter() if e.tag.endswith("text")]
    assert not any(line.isdigit() and int(line) > 100 for line in words)


def test_a_curve_that_hardly_changes_is_not_blown_up() -> None:
    """Protects a ligament that is held at its length from an ordinate of a thousandth of a percent."""
    results = gait_results()
    results.fields["ligament_lengthening"][:] = 0.0078
    words = words_of(report_of(results), -1)
    assert not any("0.78" in line for line in words)


def test_what_an_earlier_session_alone_has_is_drawn_and_in_the_tables() -> None:
    """Protects an overlay of methods: a quantity of one of them is not left out in silence."""
    now = gait_results()
    kept = tuple(spec for spec in now.session.fields if spec.name != "ligament_lengthening")
    now = now._replace(session=structs.replace(now.session, fields=kept))
    report = report_of(now, before=gait_results(seed=2))
    assert "ACL lengthening" in words_of(report, -1)
    assert "now: not known" in words_of(report, -1)
    strides = next(table for table in tables_of(report) if table.name == "strides")
    assert {row[0] for row in strides.rows if row[5] == "ligament_lengthening.ACL"} == {"before"}


def test_long_names_keep_their_ends() -> None:
    """Protects persons and trials from being taken for others whose names begin alike."""
    given = "Wilhelmine Maximiliane Friederike Charlotte Henriette"
    report = report_of(gait_results(), gait_results(seed=1), name=f"{given} von Waechtershaeuser-Muellenhoff")
    long = "laboratory_of_gait_and_posture_subject_with_a_long_code_session_two_trial_"
    trials = tuple(trial._replace(name=f"{long}{k}.c3d") for k, trial in enumerate(report.now.trials, 1))
    lines = words_of(report._replace(now=report.now._replace(trials=trials)), 0)
    assert any(line.endswith("von Waechtershaeuser-Muellenhoff") for line in lines)
    (told,) = (line for line in lines if line.startswith("trials: "))
    assert "trial_1.c3d" in told
    assert "trial_2.c3d" in told
    many = report.now._replace(trials=report.now.trials[:1] * 90)
    (told,) = (line for line in words_of(report._replace(now=many), 0) if line.startswith("trials: "))
    n_named = told.count("walk 1.c3d")
    assert n_named > 5
    assert told.endswith(f" and {90 - n_named} more")


@pytest.mark.parametrize("name", ["", "a", "abcdefgh", "abcdefghi", "W" * 300])
def test_short_names(name: str) -> None:
    """Protects names that fit from being changed, and others from growing."""
    short = short_name(name, 8)
    assert len(short) == min(len(name), 8)
    assert (short == name) == (len(name) <= 8)
    assert short[:4] == name[:4]
    assert short[-3:] == name[-3:]


def test_letters_have_room_in_the_widest_font() -> None:
    """Protects texts from running off the page: capitals, bold letters, accents, Chinese letters."""
    assert width_of("WWW", 10.0) > 1.5 * width_of("aaa", 10.0)
    assert width_of("aaa", 10.0, bold=True) > width_of("aaa", 10.0)
    assert width_of("A\u0308", 10.0) == width_of("\u00c4", 10.0) == width_of("A", 10.0)
    assert width_of("\u6b69", 10.0) == 10.0
