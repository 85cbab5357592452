"""The folder of a study: one study in it, rows once, files whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtsim.config.paths import find_config
from rtsim.errors import ConfigError
from rtsim.studies.plan import StudyPlan, plan_of
from rtsim.studies.record import read_record
from rtsim.studies.solving import LOST, OK, SolvedCase, failed_case, solve_case
from rtsim.studies.store import StudyStore, read_part


@pytest.fixture
def store(tmp_path: Path, plan: StudyPlan) -> StudyStore:
    """A folder that is made, without rows."""
    found = StudyStore(tmp_path / "out", plan)
    found.make()
    return found


def test_rows_come_back_number_for_number(store: StudyStore, plan: StudyPlan) -> None:
    """Protects tables: what is written is what is read, a lost one gives way to a solved one."""
    solved = solve_case(plan, 0)
    refused = solve_case(plan, 4)
    store.add([solved, refused, failed_case(plan, 1, LOST, "gone")], "1-of-2")
    again = store.rows()
    assert again[0].numbers == solved.numbers
    assert (again[0].curves == solved.curves).all()
    assert again[4].reason == refused.reason
    store.add([solve_case(plan, 1)], "2-of-2")
    assert store.rows()[1].status == OK


def test_parts_are_put_together_and_count_once(store: StudyStore, plan: StudyPlan) -> None:
    """Protects from a row that is there twice, as after a kill between two steps."""
    row = solve_case(plan, 0)
    parts = [store.add([row], "1-of-1"), store.add([solve_case(plan, 1)], "1-of-1")]
    copy = parts[0].read_bytes()
    store.put_together(parts, "1-of-1")
    assert len(store.parts()) == 1
    parts[0].write_bytes(copy)
    assert sorted(store.rows()) == [0, 1]
    assert isinstance(store.rows()[0], SolvedCase)


def test_another_study_is_refused_by_its_hash(store: StudyStore, plan: StudyPlan) -> None:
    """Protects a table from rows of two studies."""
    other = plan_of(plan.text.replace("0.3]", "0.4]"), plan.folder, "other")
    assert read_record(store.folder).hash == plan.digest != other.digest
    with pytest.raises(ConfigError, match=f"{plan.digest}.*{other.digest}.*another folder"):
        StudyStore(store.folder, other)
    StudyStore(store.folder, plan)


def test_a_folder_of_other_things_is_refused(tmp_path: Path, plan: StudyPlan) -> None:
    """Protects what somebody has in a folder."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "table.csv").write_text("my own")
    with pytest.raises(ConfigError, match="other files"):
        StudyStore(tmp_path / "mine", plan)
    with pytest.raises(ConfigError, match="this is a file"):
        StudyStore(tmp_path / "mine" / "table.csv", plan)
    with pytest.raises(ConfigError, match="there is no folder"):
        StudyStore(tmp_path / "no" / "folder", plan)


@pytest.mark.parametrize("data", [b"", b"text", b"PK\x03\x04half"])
def test_a_damaged_file_is_named(store: StudyStore, plan: StudyPlan, data: bytes) -> None:
    """Protects from silence: the sentence names the file and says what to do."""
    path = store.add([solve_case(plan, 0)], "1-of-1")
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=r"damaged.*remove the file"):
        read_part(path, plan)


def test_a_folder_that_moved_is_the_same_study(tmp_path: Path, plan: StudyPlan) -> None:
    """Protects shards on machines with other paths: the hash is of contents."""
    (tmp_path / "x").mkdir()
    (tmp_path / "y").mkdir()
    text = plan.text.replace('model = "impact"', 'model = "mine.toml"')
    model = find_config("impact", "models").read_text()
    for name in ("x", "y"):
        (tmp_path / name / "mine.toml").write_text(model)
    one, two = (plan_of(text, str(tmp_path / name), name) for name in ("x", "y"))
    assert one.digest == two.digest
    (tmp_path / "y" / "mine.toml").write_text(model.replace("mass_kg = 0.5", "mass_kg = 0.7"))
    assert plan_of(text, str(tmp_path / "y"), "y").digest != one.digest
