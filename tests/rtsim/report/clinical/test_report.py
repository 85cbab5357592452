"""What a report holds, and its pages."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from msgspec import structs

from rtsim.errors import ConfigError
from rtsim.files.markers.sides import EITHER
from rtsim.files.norms.norm_set import NormSet
from rtsim.report.clinical.document import html_of, pages_of
from rtsim.report.clinical.laboratory_norms import norms_of_trials
from rtsim.report.clinical.letters import folded, width_of
from rtsim.report.clinical.person_size import name_difference
from rtsim.report.clinical.report import make_report
from rtsim.report.clinical.session import ReportSession, trial_of
from rtsim.report.clinical.side_warning import side_warning
from rtsim.report.clinical.steps_page import asymmetry, step_values
from rtsim.report.clinical.tables import tables_of
from streams.messages import Curves, FieldSpec, Status
from tests.rtsim.report.clinical.made_up import gait_results, report_of

ODD = '</script><b>"Ann\'a" & \u0000\u202e'


def texts(svg: str) -> list[str]:
    """All lines of text of a page."""
    return [e.text or "" for e in ElementTree.fromstring(svg).iter() if e.tag.endswith("text")]


def test_every_page_says_whose_it_is() -> None:
    """Protects a page that is printed alone: name, date, trial, side, convention and number on each."""
    pages = pages_of(report_of(gait_results(), norms=True))
    assert len(pages) >= 5
    for number, page in enumerate(pages, 1):
        words = texts(page.svg())
        for needed in ("Anna", "2026-01-02", "trials: walk 1.c3d", f"page {number} of {len(pages)}"):
            assert needed in words
        assert any("right and left" in line and "ISB" in line for line in words)


def test_nine_angles_and_nine_kinetic_panels_hold_values_of_both_sides() -> None:
    """Protects pages one and two from a panel that is left out."""
    first, second, *_ = pages_of(report_of(gait_results()))
    for page in (first, second):
        assert len(page.panels) == 9
        assert all({s["name"] for s in panel["series"]} == {"right", "left"} for panel in page.panels)
    assert [panel["unit"] for panel in second.panels].count("W/kg") == 3


def test_the_left_side_of_the_pelvis_reads_as_the_right_one() -> None:
    """Protects signs: obliquity and rotation are of this side, tilt is the same for both."""
    results = gait_results()
    pelvis = results.fields["pelvis_angles"]
    pelvis[:] = np.radians([10.0, 4.0, -6.0])
    curves = {c.name: c for c in report_of(results).kinematics["now"]}
    for name, right, left in (
        ("pelvis_tilt", 10, 10),
        ("pelvis_obliquity", 4, -4),
        ("pelvis_rotation", -6, 6),
    ):
        np.testing.assert_allclose(curves[name].mean("right"), right, atol=1e-9)
        np.testing.assert_allclose(curves[name].mean("left"), left, atol=1e-9)


def test_moments_are_per_body_mass() -> None:
    """Protects the unit of page two, and says why there are none without a mass."""
    results = gait_results()
    results.fields["joint_moments"][:] = 35.0
    curves = {c.name: c for c in report_of(results).kinetics["now"]}
    np.testing.assert_allclose(curves["knee_flexion_moment"].mean("left"), 0.5, atol=1e-12)
    page = pages_of(report_of(gait_results(mass_kg=0.0)))[1]
    assert any("body mass is not known" in line for line in texts(page.svg()))
    page = pages_of(report_of(gait_results(forces=False)))[1]
    assert any("no force plates" in line for line in texts(page.svg()))


def test_scores_are_nought_against_the_own_mean() -> None:
    """Protects the way of curves to scores: norms that are the mean of the right side."""
    report = report_of(gait_results(), norms=True)
    assert report.scores["now"].sides["right"] < 1.0
    assert report.scores["now"].sides["left"] > 1.0


def test_norms_of_the_other_convention_are_refused() -> None:
    """Protects from norms of Plug-in Gait beside angles of the ISB."""
    now = ReportSession("now", (trial_of(gait_results(), "walk"),))
    norms = NormSet("clinic", "cgm", {})
    with pytest.raises(ConfigError, match="no pelvic tilt of the convention 'cgm'"):
        make_report(now, None, norms, "n.toml", "A", "", "1")
    with pytest.raises(ConfigError, match="must not be compared"):
        make_report(now, None, norms, "n.toml", "A", "", "1", angles="isb")


def test_sessions_are_overlaid_and_trials_averaged() -> None:
    """Protects before and after, and means over the strides of several trials."""
    report = report_of(gait_results(), gait_results(seed=0), before=gait_results(seed=5))
    one = report_of(gait_results())
    now, alone = report.kinematics["now"][6], one.kinematics["now"][6]
    assert len(now.strides["right"]) == 2 * len(alone.strides["right"])
    np.testing.assert_allclose(now.mean("right"), alone.mean("right"), atol=1e-12)
    names = {s["name"] for s in pages_of(report)[0].panels[0]["series"]}
    assert names == {"right", "left", "right before", "left before"}


def test_odd_names_stay_text() -> None:
    """Protects the file from names that are HTML, and from characters that XML does not have."""
    report = report_of(gait_results(source=f"/home/{ODD}.c3d", subject=ODD, notes=[ODD]), name=ODD)
    pages = pages_of(report)
    for page in pages:
        ElementTree.fromstring(page.svg())
    html = html_of(report, pages)
    HTMLParser().feed(html)
    assert html.count("<script") == html.count("</script>") == 2
    assert "<b>" not in html
    assert "\u202e" not in html
    assert "http" not in re.sub(r"http-equiv|http://www.w3.org/2000/svg", "", html)
    data = re.search(r'id="panels">(.*?)</script>', html, re.DOTALL)
    assert data is not None
    assert len(json.loads(data[1])) == len(pages)


def test_a_trial_without_a_stride_is_drawn_over_time() -> None:
    """Protects from empty pages, of a person who stands or squats, and tells why there are no steps."""
    results = gait_results()
    still = {k: np.repeat(v[:1], len(v), axis=0) for k, v in results.fields.items()}
    report = report_of(results._replace(fields=still))
    assert any("no full stride was found" in note for note in report.now.trials[0].notes)
    first, second, third, fourth = pages_of(report)
    assert any("no full stride was found" in line for line in texts(first.svg()))
    assert [panel["title"] for panel in first.panels][:2] == ["Pelvic tilt", "Pelvic obliquity"]
    assert [panel["unit"] for panel in second.panels] == ["N m/kg"] * 2 + ["W/kg"] + ["N m/kg"] * 2 + [
        "W/kg", "N m/kg", "body weight", "W/kg",
    ]  # fmt: skip
    assert "Joints and muscles over time" in texts(third.svg())
    assert "Gait report: quality and settings" in texts(fourth.svg())


def test_curves_over_time_are_the_frames() -> None:
    """Protects values, times, sides and flags of curves of a trial without a stride, drawn and in tables."""
    results = gait_results(forces=False)
    fields = {name: values[:40].copy() for name, values in results.fields.items()}
    fields["joint_angles"][7] = np.nan
    status = results.status[:40].copy()
    status[20:25] = int(Status.NOT_CONVERGED)
    short = results._replace(times=5.0 + results.times[:40], status=status, fields=fields)
    report = report_of(short)
    page = pages_of(report)[0]
    assert any("No moments: no force plates." in line for line in texts(page.svg()))
    panel = next(one for one in page.panels if one["title"] == "Knee flexion")
    np.testing.assert_allclose(panel["times"], results.times[:40], atol=1e-4)
    labels = next(s.labels for s in results.session.fields if s.name == "joint_angles")
    for series in panel["series"]:
        column = labels.index(f"knee_flexion_{series['name'][0]}")
        expected = np.degrees(fields["joint_angles"][:, column])
        expected[20:25] = np.nan
        drawn = np.array(series["mean"], dtype=np.float64)
        np.testing.assert_allclose(drawn, expected, atol=1e-4)
    table = next(table for table in tables_of(report) if table.name == "over_time")
    rows = [row for row in table.rows if row[2:4] == ("left", short.times[21]) and row[4] == "knee_flexion"]
    (value,) = rows
    assert value[6] == pytest.approx(np.degrees(fields["joint_angles"][21, labels.index("knee_flexion_l")]))
    assert value[7] == 1
    walked = next(t for t in tables_of(report_of(gait_results())) if t.name == "over_time")
    assert walked.rows == []


def test_a_model_of_other_names_is_drawn_over_time() -> None:
    """Protects the angles of an OpenSim model: all are drawn, once where they have no side."""
    results = gait_results(forces=False)
    names = ("hip_flexion_r", "hip_flexion_l", "knee_angle_r", "knee_angle_l", "lumbar_extension")
    angles = np.random.default_rng(3).normal(size=(len(results.times), len(names)))
    spec = FieldSpec("joint_angles", (5,), "rad", names, curves=Curves("Joints", "angle"))
    session = structs.replace(results.session, fields=(spec,))
    own = results._replace(session=session, fields={"joint_angles": angles})
    page = pages_of(report_of(own))[0]
    drawn = {panel["title"]: [series["name"] for series in panel["series"]] for panel in page.panels}
    assert len(drawn) == 3
    assert drawn["Hip flexion"] == ["right", "left"]
    assert ["value"] in drawn.values()
    assert any(line.startswith("right and left;") for line in texts(page.svg()))


def test_a_side_without_a_stride_is_told() -> None:
    """Protects from the belief that one leg alone was measured, where the other makes no full stride."""
    report = report_of(gait_results())
    trial = report.now.trials[0]
    few = trial._replace(cycles=tuple(c for c in trial.cycles if c.side == "right"))
    page = pages_of(report._replace(now=report.now._replace(trials=(few,))))[0]
    assert any("right side only, no full stride was found for: left" in line for line in texts(page.svg()))


def test_one_leg_alone_is_told() -> None:
    """Protects the side of a report of one leg."""
    report = report_of(gait_results())
    lone = report.now.trials[0]._replace(
        cycles=tuple(c for c in report.now.trials[0].cycles if c.side == "left")
    )
    alone = make_report(ReportSession("now", (lone,)), None, None, "", "A", "", "1")
    assert alone.sides == ("left",)
    assert any("left side only" in line for line in texts(pages_of(alone)[0].svg()))
    assert all({s["name"] for s in p["series"]} == {"left"} for p in pages_of(alone)[0].panels)


def test_flagged_frames_are_told_and_kept_out_of_means() -> None:
    """Protects means from frames that are no measurement, and pages from an error where none is sound."""
    results = gait_results()
    results.status[:] = 8
    report = report_of(results)
    assert np.isnan(report.kinematics["now"][6].mean("right")).all()
    words = [line for page in pages_of(report) for line in texts(page.svg())]
    assert any("not converged 600" in line for line in words)


@pytest.mark.parametrize("n", [1, 2, 15, 150])
def test_few_frames_give_a_report(n: int) -> None:
    """Protects short recordings: pages that say what is not known."""
    whole = gait_results()
    fields = {name: values[:n] for name, values in whole.fields.items()}
    cut = whole._replace(times=whole.times[:n], status=whole.status[:n], fields=fields)
    titles = [set(texts(page.svg())) for page in pages_of(report_of(cut))]
    over_time = {"Kinematics over time", "Moments and powers over time", "Joints and muscles over time"}
    walked = {"Gait report: kinematics", "Gait report: moments and powers", "Gait report: steps and scores"}
    assert (walked if n == 150 else over_time) <= set().union(*titles)
    assert "Gait report: quality and settings" in set().union(*titles)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_none_give_a_report(value: float) -> None:
    """Protects pages from an error where nothing is known."""
    whole = gait_results()
    fields = {name: np.full_like(values, value) for name, values in whole.fields.items()}
    report = report_of(whole._replace(fields=fields))
    assert not any("nan" in line.lower().split() for page in pages_of(report) for line in texts(page.svg()))


def test_a_descriptor_of_a_stranger_gives_a_report() -> None:
    """Protects from an error where a recording's descriptor has other things than ours."""
    odd = {"mass_kg": "x", "stature_m": [1], "notes": 5, "rates": {"cutoff_hz": "a"}, "chosen": 3}
    report = report_of(gait_results(**odd, gait_events="zz", side=7, subject=4))
    assert any("body mass is not known" in line for line in texts(pages_of(report)[1].svg()))


def test_values_of_steps_over_strides() -> None:
    """Protects means, deviations and asymmetry of the page of steps."""
    values = {(v.name, v.side): v for v in step_values(report_of(gait_results()).now)}
    assert values["Stride Time", "right"].mean == pytest.approx(1.1, abs=0.02)
    assert values["Walking Speed", "left"].mean == pytest.approx(1.3, abs=0.1)
    assert values["Stride Time", "right"].n >= 3
    assert asymmetry(1.1, 0.9) == pytest.approx(20.0)


def test_norms_are_made_of_persons() -> None:
    """Protects norms of own trials: mean and deviation over persons, or over strides of one."""
    trials = [(who, trial_of(gait_results(seed=k), f"{who}.c3d")) for k, who in enumerate(("A", "B", "C"))]
    norms, notes = norms_of_trials(trials, "folder", "", "lab", "", "")
    assert (norms.n_person, norms.convention, len(norms.curves), notes) == (3, "isb", 9, [])
    alone, told = norms_of_trials(trials[:1], "folder", "", "lab", "", "")
    assert alone.n_person == 1
    assert any("not those of a population" in note for note in told)
    with pytest.raises(ConfigError, match="no trial contains a full stride"):
        norms_of_trials([("A", trials[0][1]._replace(cycles=()))], "folder", "", "lab", "", "")


def test_persons_of_norms_are_those_of_the_results() -> None:
    """Protects the number of persons: names with a dot, and subject files that are all called alike."""
    for key, names in (
        ("person", ("P.01", "P.02")), ("subject", ("M.Smith.toml", "M.Jones.toml")),
        ("subject", ("anna/subject.toml", "bob/subject.toml")),
    ):  # fmt: skip
        trials = [
            ("", trial_of(gait_results(seed=k, **{key: name}), "walk.mcap")) for k, name in enumerate(names)
        ]
        assert norms_of_trials(trials, "folder", "", "lab", "", "")[0].n_person == 2


def test_one_static_trial_does_not_make_one_person_of_two() -> None:
    """Protects the number of persons: names come before the file of the static trial, and without names it
    is told that this file alone says who is who.
    """
    for names, n_person, told in ((("Anna", "Bob"), 2, 0), (("Anna", " anna"), 1, 0), (("", ""), 1, 1)):
        trials = [
            ("", trial_of(gait_results(seed=k, subject_name=name, subject="static"), f"{k}.c3d"))
            for k, name in enumerate(names)
        ]
        norms, notes = norms_of_trials(trials, "folder", "", "lab", "", "")
        assert norms.n_person == n_person
        assert sum("0.c3d, 1.c3d: counted as one person" in note for note in notes) == told


def test_trials_of_two_persons_are_told_by_their_names() -> None:
    """Protects from averages over two persons of one size; a trial without a name may be anybody's."""
    trials = [trial_of(gait_results(**meta), f"{k}.c3d") for k, meta in enumerate(
        ({"person": "Anna"}, {}, {"person": "anna"}, {"person": "Bob"})
    )]  # fmt: skip
    assert name_difference(trials[:3]) == ""
    assert name_difference(trials) == "the trials are not of one person: 0.c3d names Anna, 3.c3d names Bob"


def test_the_warning_of_exchanged_sides_names_session_and_trial() -> None:
    """Protects the warning where trials of both sessions have one name, whichever of them it is about."""
    doubted, sound = gait_results(notes=[f"check the sides: {EITHER}"]), gait_results(seed=1)
    earlier = "the labels R and L are exchanged, or the axes of the file are left-handed"  # of version 0.1
    assert "Check the sides" in side_warning(report_of(gait_results(notes=[earlier])))
    for now, then, session in ((doubted, sound, "now"), (sound, doubted, "before")):
        report = report_of(now, before=then)
        alike = [
            s._replace(trials=tuple(t._replace(name="w.c3d") for t in s.trials)) for s in report.sessions
        ]
        words = side_warning(report._replace(now=alike[0], before=alike[1]))
        assert f"w.c3d ({session})" in words
        assert words.count("w.c3d") == 1
    assert side_warning(report_of(sound, before=sound)) == ""


def test_long_words_are_folded() -> None:
    """Protects notes from running off the page: lines have room, and lose nothing."""
    text = "a long path " + "x" * 500 + " end"
    lines = folded(text, 600.0, 24.0)
    assert max(width_of(line, 24.0) for line in lines) <= 600.0
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert folded("", 600.0, 24.0) == [""]
