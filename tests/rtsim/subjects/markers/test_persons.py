"""Several persons in one file or stream: listed, chosen, and never mixed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from rtsim.cli.main import cli
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.files.markers.ground import to_ground
from rtsim.files.markers.markers import read_markers
from rtsim.files.markers.persons import of_person
from rtsim.files.markers.trc import write_trc
from rtsim.files.markers.trial import MarkerTrial, RawTrial
from rtsim.live.inputs.sources import load_trial, the_walker
from rtsim.live.subjects.persons import with_person
from rtsim.live.subjects.subject_check import notes_before
from rtsim.models.tracked import tracked_person
from rtsim.stages.markers.marker_input import MarkerInput
from rtsim.stages.markers.reference_length import of_subject
from rtsim.stages.markers.unnamed_markers import unnamed_markers
from rtsim.subjects.calibration.calibration import subject_for
from rtsim.subjects.markers.marker_names import find_markers
from rtsim.subjects.markers.persons import choose, read_one, share_of, share_of_labs
from streams.messages import marker_session

WALKER = load_trial("walker", 0.5)
ASIDE = np.array([0.0, 0.0, 0.45])


def together(*parts: tuple[str, MarkerTrial]) -> MarkerTrial:
    """One trial with the markers of all, each person's behind the text that stands before their names."""
    names = tuple(f"{before}{name}" for before, trial in parts for name in trial.names)
    positions = np.concatenate([trial.positions for _, trial in parts], axis=1)
    return WALKER._replace(names=names, positions=positions)


def without(trial: MarkerTrial, *lacking: str) -> MarkerTrial:
    rows = [k for k, name in enumerate(trial.names) if name not in lacking]
    return trial._replace(
        names=tuple(trial.names[k] for k in rows), positions=np.ascontiguousarray(trial.positions[:, rows])
    )


THERAPIST = WALKER._replace(positions=0.93 * WALKER.positions + ASIDE)
ANNA = without(WALKER, "RTH1")


def file_of(tmp_path: Path, trial: MarkerTrial, name: str = "two.trc") -> Path:
    write_trc(tmp_path / name, trial)
    return tmp_path / name


def test_two_persons_who_could_be_solved_are_listed(tmp_path: Path) -> None:
    """Protects against the first in file order, who may be the therapist."""
    path = file_of(tmp_path, together(("Therapist:", THERAPIST), ("Anna:", ANNA)))
    for read in (
        lambda: with_person(RunConfig(name="r", source=str(path))),
        lambda: with_person(RunConfig(name="r", source=str(path), subject="walker")),
        lambda: subject_for(path),
        lambda: read_one(path, share_of(WALKER.names)),
    ):
        with pytest.raises(ConfigError, match=r"Therapist \(17 markers\), Anna \(16 markers\)"):
            read()
    done = CliRunner().invoke(cli, ["analyse", str(path)])
    assert isinstance(done.exception, ConfigError)
    assert "--person Therapist" in str(done.exception)


@pytest.mark.parametrize("before", ["{}:", "lab:{}:", "{}_", "{}."])
def test_who_is_chosen_has_the_markers_of_nobody_else(tmp_path: Path, before: str) -> None:
    """Protects a marker that one person lacks against the other's of that name, whatever stands between."""
    names = "Therapist", "Anna"
    pairs = zip(names, (THERAPIST, ANNA), strict=True)
    path = file_of(tmp_path, together(*((before.format(n), trial) for n, trial in pairs)))
    person = before.format("anna")[:-1]
    run, _ = with_person(RunConfig(name="r", source=str(path), person=person))
    found = read_markers(path, person=run.person)
    assert found.names == ANNA.names
    np.testing.assert_allclose(found.positions, ANNA.positions, atol=1e-8)
    assert any("left out" in note for note in found.notes)
    assert "RTH1" not in subject_for(path, person=person).marker_names


def test_the_only_one_with_the_markers_is_taken_and_told(tmp_path: Path) -> None:
    """Protects recordings with a prop, a half labelled helper, or a template that was never seen."""
    wand = WALKER._replace(names=("W1", "RTH1"), positions=THERAPIST.positions[:, :2])
    unseen = THERAPIST._replace(positions=np.full_like(THERAPIST.positions, np.nan))
    for other in (wand, without(THERAPIST, *WALKER.names[:12]), unseen):
        path = file_of(tmp_path, together(("Other:", other), ("Anna:", ANNA)))
        run, told = with_person(RunConfig(name="r", source=str(path)))
        if other is unseen:
            assert read_markers(path, person="Anna").names == ANNA.names
            continue
        assert run.person == "Anna"
        assert "Other, Anna" in told[0]
        assert "--person" in told[0]
        assert subject_for(path).marker_names == subject_for(file_of(tmp_path, ANNA, "one.trc")).marker_names


def test_labels_without_a_colon_name_a_person_only_where_markers_follow() -> None:
    """Protects R_ASIS and L_ASIS, which are of one person."""
    names = [f"{name[0]}_{name[1:]}" for name in WALKER.names]
    assert choose(names, share_of(WALKER.names), "trial").person == ""
    assert choose([*names, "Wand_1", "Wand_2"], share_of(WALKER.names), "trial").person == ""


def test_the_static_trial_is_of_the_person_of_the_walk(tmp_path: Path) -> None:
    """Protects against the therapist's static trial in a file of both, and tells one of another person."""
    both = file_of(tmp_path, together(("Therapist:", THERAPIST), ("Anna:", WALKER)), "static.trc")
    walk = file_of(tmp_path, together(("Anna:", WALKER)), "walk.trc")
    subject = subject_for(walk, both)
    assert subject.person == "Anna"
    assert subject.segments == subject_for(walk).segments
    alone = file_of(tmp_path, together(("Therapist:", WALKER)), "other.trc")
    assert any("Therapist" in note and "Anna" in note for note in subject_for(walk, alone).notes)
    run, told = with_person(RunConfig(name="r", source=str(both), static=str(walk)))
    assert run.person == "Anna"
    assert "the static trial" in told[0]


def test_a_static_trial_of_another_name_is_refused_unless_it_is_wanted(tmp_path: Path) -> None:
    """Protects two persons of one size, whom nothing but the labels tells apart; one person may have two
    names.
    """
    walk, static = (
        str(file_of(tmp_path, together((f"{who}:", WALKER)), f"{who}.trc")) for who in ("Anna", "Bert")
    )
    run = RunConfig(name="r", source=walk, static=static)
    with pytest.raises(ConfigError, match=r"belong to Bert, but those of the trial to Anna.*--anyway"):
        notes_before(run)
    done = CliRunner().invoke(cli, ["calibrate", walk, "--static", static, "--out", str(tmp_path / "s.toml")])
    assert "belong to Bert, but those of the trial to Anna" in str(done.exception)
    assert any("belong to Bert" in note for note in notes_before(run, anyway=True))
    assert not any(
        "belong to" in note for note in notes_before(RunConfig(name="r", source=walk, static=walk))
    )


def test_nobody_of_that_name(tmp_path: Path) -> None:
    """Protects a name that was misspelt: told with those there are, also where there is one person alone."""
    path = file_of(tmp_path, together(("Therapist:", THERAPIST), ("Anna:", ANNA)))
    with pytest.raises(ConfigError, match="Therapist, Anna"):
        with_person(RunConfig(name="r", source=str(path), person="Zoe"))
    alone = file_of(tmp_path, together(("Anna:", WALKER)), "one.trc")
    with pytest.raises(ConfigError, match=r"no marker in the file belongs to Zoe.*Anna"):
        with_person(RunConfig(name="r", source=str(alone), person="Zoe"))
    assert with_person(RunConfig(name="r", source=str(alone), person="anna")) == (
        RunConfig(name="r", source=str(alone), person="anna"),
        (),
    )
    with pytest.raises(ConfigError, match="no marker name has the prefix Zoe"):
        with_person(RunConfig(name="r", source=str(file_of(tmp_path, WALKER, "none.trc")), person="Zoe"))
    with pytest.raises(ConfigError, match="one person"):
        with_person(RunConfig(name="r", person="Anna"))


def test_names_are_never_found_on_two_persons() -> None:
    """Protects every look for markers that was not told whose they are."""
    names = ["Therapist:RASI", "Therapist:RTH1", "Therapist:RKNE", "Anna:RASI", "Anna:RKNE"]
    assert find_markers(["Anna:RASI", "Anna:RTH1"], names) == {"Anna:RASI": 3}
    assert find_markers(["RASI", "RTH1", "RKNE"], names) == {"RASI": 0, "RTH1": 1, "RKNE": 2}
    assert find_markers(["RASI", "RKNE"], names) == {}
    assert find_markers(["RASI", "w1"], ["Wand:w2", "Anna:RASI"]) == {"RASI": 1}


def door_of(labels: tuple[str, ...], **options: object) -> MarkerInput:
    session = marker_session(labels, rate=100.0, t_start=0)
    return MarkerInput(of_subject(the_walker()), session, **options)


def test_a_stream_of_two_persons_is_not_followed_until_one_is_named() -> None:
    """Protects live runs: frames are flagged and a sentence lists the persons; the subject's own is taken."""
    two = together(("Therapist:", THERAPIST), ("Anna:", WALKER))
    frame = {"positions": np.ascontiguousarray(two.positions[0])}
    marker_input = door_of(two.names)
    assert not marker_input.usable
    assert not marker_input.admit(frame)[1]
    assert any("Therapist (17 markers), Anna (17 markers)" in said for said in marker_input.sentences)
    for options in ({"person": "anna"}, {"known": {"Anna": "whose the subject is"}}):
        marker_input = door_of(two.names, **options)
        measured, admitted = marker_input.admit(frame)
        assert admitted
        np.testing.assert_allclose(measured, WALKER.positions[0])
        assert any("Anna" in said or "anna" in said for said in marker_input.sentences)
        assert all("Therapist" not in label for label in marker_input.labels)
    assert not door_of(two.names, person="Zoe").usable


def test_a_stream_of_somebody_else_alone_is_not_taken_for_the_person_asked_for() -> None:
    """Protects Anna's results from being Ben's, where Ben is alone in the stream."""
    names = tuple(f"Ben:{name}" for name in WALKER.names)
    marker_input = door_of(names, person="Anna")
    assert not marker_input.usable
    assert not marker_input.admit({"positions": WALKER.positions[0].copy()})[1]
    assert any("belongs to Anna" in said and "Ben" in said for said in marker_input.sentences)
    for labels, person in ((names, "ben"), (WALKER.names, "Anna"), (names, "")):
        marker_input = door_of(labels, person=person)
        assert marker_input.usable
        assert marker_input.sentences == []


@pytest.mark.parametrize("person", ["unnamed", "Anna"])
def test_a_prop_with_a_name_before_its_label_is_no_other_person(person: str) -> None:
    """Protects streams of labels without a person's name beside a probe: they alone are used."""
    marker_input = door_of((*WALKER.names, "Probe:tip"), person=person)
    assert marker_input.usable
    assert marker_input.labels == (*WALKER.names, "")
    (said,) = marker_input.sentences
    assert f"no label of the stream begins with {person}:" in said


def test_somebody_else_beside_a_marker_without_a_name_is_not_taken_for_the_person_asked_for() -> None:
    """Protects Anna's results from being Ben's, where a wand's label has no name before it."""
    ben = tuple(f"Ben:{name}" for name in WALKER.names if name != "RTH1")
    for one in ("W1", "RTH1"):
        marker_input = door_of((*ben, one), person="Anna")
        assert not marker_input.usable
        assert any("belongs to Anna" in said and "Ben" in said for said in marker_input.sentences)
    assert door_of((*ben, "RTH1"), person="Unnamed").labels == (*("" for _ in ben), "RTH1")


def test_a_person_is_found_by_any_part_before_a_colon() -> None:
    """Protects systems that put a session's or a subject's number before the person's name."""
    names = tuple(f"S1:Anna:{name}" for name in WALKER.names)
    for person in ("Anna", "anna:", "S1", "S1:Anna"):
        marker_input = door_of(names, person=person)
        assert marker_input.usable
        assert marker_input.sentences == []
    assert not door_of(names, person="Ben").usable


@pytest.mark.parametrize("between", [":", "_"])
def test_named_markers_of_another_person_are_not_sought_among(between: str) -> None:
    """Protects names given to unnamed markers: a named marker of another person gets none of them."""
    ghosts = ("", "*3", "Unlabeled 7", "New 0012")
    names = (
        *(f"Anna{between}{name}" for name in WALKER.names if name != "RTH1"),
        *(f"Ben{between}{name}" for name in WALKER.names), *ghosts, f"Anna{between}*12", f"Ben{between}*13",
    )  # fmt: skip
    sought = unnamed_markers(tracked_person(the_walker()), the_walker().marker_names)
    n = 2 * len(WALKER.names) - 1
    marker_input = door_of(names, person="Anna", unnamed=sought)
    assert marker_input.usable
    assert sought.rows.tolist() == [*range(n, n + 5)]
    strangers = tuple(name.replace("Anna", "Anne") for name in names)
    marker_input = door_of(strangers, person="Ben", unnamed=sought)
    assert sought.rows.tolist() == [*range(n, n + 4), n + 5]


def test_a_stream_of_one_person_and_a_prop() -> None:
    """Protects live volumes with a wand, and streams whose labels name thousands."""
    names = (*(f"Anna:{name}" for name in WALKER.names), "Wand:W1", "Wand:RTH1")
    marker_input = door_of(names)
    assert marker_input.usable
    assert marker_input.labels[-2:] == ("", "")
    assert not door_of(tuple(f"p{k}:x" for k in range(20_000))).usable


def test_the_axis_that_is_up_is_told_by_anybodys_names() -> None:
    """Protects the guess of the axes where names of persons stand before those of the markers."""
    z_up = WALKER.positions @ np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]])
    names = tuple(f"{person}:{name}" for person in ("Anna", "Bob") for name in WALKER.names)
    raw = RawTrial(names, WALKER.times, np.concatenate([z_up, z_up], axis=1) + 5.0, 100.0, "trial", "m")
    assert any("+Z was used, because pelvis" in note for note in to_ground(raw).notes)
    assert of_person(raw, "bob").person == "Bob"


def test_maps_tell_who_is_complete() -> None:
    """Protects the choice by the shipped maps and by one that is given."""
    share = share_of_labs()
    assert share(list(WALKER.names)) == 1.0
    assert share(["RASI", "W1"]) < 0.7


def test_markers_without_a_name_beside_a_named_person_are_told_and_left_out_by_choice(tmp_path: Path) -> None:
    """Protects against a bystander's marker: it is told, and who asks for Anna has hers alone."""
    lone = without(WALKER, *(name for name in WALKER.names if name != "RTH1"))
    path = file_of(tmp_path, together(("Anna:", ANNA), ("", lone._replace(positions=lone.positions + ASIDE))))
    (note,) = [note for note in read_markers(path).notes if "without a person's name" in note]
    assert "1 marker" in note
    assert "(RTH1)" in note
    assert "--person Anna" in note
    one = read_markers(path, person="anna")
    assert "RTH1" not in one.names
    assert len(one.names) == len(ANNA.names)
