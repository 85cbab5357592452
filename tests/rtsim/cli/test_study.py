"""`rtsim study` as it is typed: plans, tables, interruptions, and one sentence for each mistake."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.rtsim.cli.files import STUDY


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """The file of a study of two impacts, in the folder of the command."""
    path = tmp_path / "impacts.toml"
    path.write_text(STUDY)
    return path


def rows_of(folder: Path) -> list[dict[str, str]]:
    """The table of a study."""
    with (folder / "table.csv").open() as file:
        return list(csv.DictReader(file))


def test_a_study_makes_a_table(here, study: Path) -> None:
    """Protects the way of a user: a plan that leaves nothing behind, a table, and nothing twice."""
    done = here("study", study.name, "--plan")
    assert done.code == 0, done.err
    assert "2 cases, a grid of 1 parameters: step" in done.out
    assert "0 cases done, 2 left" in done.out
    assert not study.with_suffix(".study").exists()
    done = here("study", study.name, "--workers", "0")
    assert done.code == 0, done.err
    assert "2 of 2 cases done: 2 ok" in done.out
    rows = rows_of(study.with_suffix(".study"))
    assert [row["step"] for row in rows] == ["0.08", "0.16"]
    assert all(float(row["force [N]"]) > 1000.0 for row in rows)
    before = (study.with_suffix(".study") / "table.npz").read_bytes()
    assert here("study", study.name, "--workers", "0").code == 0
    assert (study.with_suffix(".study") / "table.npz").read_bytes() == before


@pytest.mark.process
def test_processes_give_the_same_table(here, rtsim, study: Path) -> None:
    """Protects numbers from where they were computed: two processes and this one, byte for byte."""
    assert here("study", study.name, "--workers", "0", "--out", "one").code == 0
    done = rtsim("study", str(study), "--workers", "2", "--out", str(study.parent / "two"))
    assert done.code == 0, done.err
    one, two = (study.parent / name / "table.npz" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("model.simulation.step_ms", "model.simulation.step"), ("does not exist", "allowed: step_ms")),
        (("values = [0.08, 0.16]", "values = []"), ("needs values", "one value or more")),
        (("step_ms", "method"), ("0 ok",)),
        (('model = "impact"', 'model = "impcat"'), ("no config named 'impcat'",)),
        (("contact_normal_forces.floor", "contact_normal_forces.flor"), ("no column", ".floor")),
        (('take = "largest"', 'take = "most"'), ("results", "most")),
        (('take = "largest"', 'take = "time_to"'), ("threshold",)),
        (("[simulate]", "[analyse]\n[simulate]"), ("analyse and simulate",)),
        (('name = "force"', 'name = "step"'), ("two columns",)),
        (('name = "force"', 'name = "status"'), ("two columns",)),
        (('name = "force"', 'name = "a b"'), ("'a b' cannot be a name", "letters, digits and _")),
        (("[[results]]", "[[result]]"), ("result",)),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(here, study: Path, change: tuple[str, str], words) -> None:
    """Protects whoever writes a study: what is wrong, where, and what is allowed."""
    study.write_text(STUDY.replace(*change))
    done = here("study", study.name, "--workers", "0")
    told = done.err + done.out
    assert "Traceback" not in told
    if words == ("0 ok",):  # values that the schema refuses are rows
        assert done.code == 1
        assert done.sentence == "rtsim: study impacts: no case has a result; see the reasons above"
        assert {row["status"] for row in rows_of(study.with_suffix(".study"))} == {"refused"}
        return
    assert done.code == 1
    for word in words:
        assert word in done.sentence, done.err


def test_two_studies_do_not_share_a_folder(here, study: Path) -> None:
    """Protects tables from rows of another study."""
    assert here("study", study.name, "--workers", "0", "--out", "a").code == 0
    study.write_text(STUDY.replace("0.08", "0.04"))
    done = here("study", study.name, "--workers", "0", "--out", "a")
    assert done.code == 1
    assert "the folder contains the study impacts with the hash" in done.sentence


def test_a_study_is_reported(here, study: Path) -> None:
    """Protects `rtsim report FOLDER`: words, and figures beside the table or in another folder."""
    pytest.importorskip("PySide6")
    study.write_text(STUDY + '[curves]\ncolumns = ["contact_normal_forces.floor"]\n')
    assert here("study", study.name, "--workers", "0").code == 0
    done = here("report", "impacts.study")
    assert done.code == 0, done.err
    assert "force [N]: mean" in done.out
    assert "  step: " in done.out
    for name in ("tornado.png", "bands.png"):
        assert (study.with_suffix(".study") / name).read_bytes()[:4] == b"\x89PNG"
    assert here("report", "impacts.study", "--out", "figures").code == 0
    assert (study.parent / "figures" / "bands.png").exists()
    for more, words in ((("--norms", "x"), "together with trials"), (("--out", "a.pdf"), "several files")):
        done = here("report", "impacts.study", *more)
        assert done.code == 1
        assert words in done.sentence
    (study.with_suffix(".study") / "table.npz").unlink()
    assert "no table yet" in here("report", "impacts.study").sentence


def test_a_full_disk_is_told_at_once(here, study: Path) -> None:
    """Protects from hours that nobody keeps: the first rows that do not fit end the study with a sentence."""
    resource = pytest.importorskip("resource")
    import signal

    study.write_text(STUDY.replace("[0.08, 0.16]", str([0.08 + 0.001 * k for k in range(40)])))
    assert here("study", study.name, "--plan").code == 0
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    former = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2500, before[1]))
    try:
        done = here("study", study.name, "--workers", "0")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, former)
    assert done.code == 1
    assert "cannot be written (File too large)" in done.sentence
    assert list((study.with_suffix(".study") / "parts").iterdir()) == []
    assert here("study", study.name, "--workers", "0").code == 0


def test_a_scheduler_that_is_not_there_is_told(here, study: Path) -> None:
    """Protects whoever types an address: one sentence, with what to do."""
    pytest.importorskip("distributed")
    done = here("study", study.name, "--scheduler", "nonsense")
    assert done.code == 1
    assert "'nonsense' is not an address of a scheduler; allowed: one like tcp://HOST:8786" in done.sentence
    done = here("study", study.name, "--scheduler", "tcp://h:1", "--workers", "2")
    assert "--workers: the option applies only to processes on this machine" in done.sentence
