"""The folder of a study: one study in it, rows once, files whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from rtsim.config.paths import find_config
from rtsim.errors import ConfigError
from rtsim.files.model_toml import model_text
from rtsim.models.load import load_model
from rtsim.studies.plan import StudyPlan, plan_of
from rtsim.studies.record import read_record
from rtsim.studies.solving import LOST, OK, SolvedCase, failed_case, solve_case
from rtsim.studies.store import StudyStore, read_part
from rtsim.studies.table import columns_of
from tests.rtsim.studies.impacts import impacts


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


def named_in_loads(folder: Path, inner: str) -> str:
    """A study of an analysis whose external loads name this file."""
    force = '<ExternalForce name="r"><applied_to_body>calcn_r</applied_to_body></ExternalForce>'
    objects = f"<objects>{force}</objects><datafile>{inner}</datafile>"
    loads = f'<ExternalLoads name="x">{objects}</ExternalLoads>'
    (folder / "loads.xml").write_text(f'<OpenSimDocument Version="40000">{loads}</OpenSimDocument>')
    return (
        'name = "loads"\n[analyse.run]\nsource = "walker"\nforces = "loads.xml"\n'
        '[[parameters]]\nname = "mass"\nkey = "run.mass_kg"\nvalues = [60.0, 70.0]\n'
        '[[results]]\nname = "rms"\ncolumn = "marker_rms"\ntake = "mean"\n'
    )


def named_in_a_model(folder: Path, inner: str) -> str:
    """A study of a simulation whose model has this surface."""
    ball = load_model("mesh_ball")
    surface = msgspec.structs.replace(ball.contacts[0].b, file=str(folder / inner), plate_mm=None, lines=24)
    contact = msgspec.structs.replace(ball.contacts[0], surface_b=surface)
    text = model_text(msgspec.structs.replace(ball, contacts=(contact,)))
    (folder / "mine.toml").write_text(text)
    return impacts(step=(0.08, 0.16)).replace('model = "impact"', 'model = "mine.toml"')


@pytest.mark.parametrize(("inner", "study"), [("grf.mot", named_in_loads), ("a.obj", named_in_a_model)])
def test_a_file_that_a_file_names_belongs_to_the_study(
    tmp_path: Path, inner: str, study: Callable[[Path, str], str]
) -> None:
    """Protects from rows of two kinds: forces behind external loads, and surfaces of contacts, count, too."""
    text, found = study(tmp_path, inner), set()
    for content in ("one", "two"):
        (tmp_path / inner).write_text(content)
        found.add(plan_of(text, str(tmp_path), "study").digest)
    assert len(found) == 2


def test_a_table_without_rows_has_its_columns(plan: StudyPlan) -> None:
    """Protects a part of a study that has no case of its own, as the fifth of eight parts of three cases."""
    columns, _ = columns_of(plan, {})
    assert {"case", "force", "status"} <= columns.keys()
    assert {len(column) for column in columns.values()} == {0}
