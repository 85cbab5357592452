"""Config files: whatever is wrong with one, the user gets a sentence that says where, what and what to do."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtsim.config.load import check_record, load_toml, parse_toml
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import configs_root
from rtsim.config.runs.lab_schema import LabMap
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.subjects.subject import Subject

RUN = 'name = "run"\n'
MODEL = 'name = "m"\nsource = "s"\n'
ROOT_BODY = '[[bodies]]\nname = "pelvis"\njoint = "free"\n'
SEGMENT = "[segments.thigh]\nlength_mm = 400.0\nalpha_deg = 90.0\nbeta_deg = 90.0\n"

MISTAKES = [
    # text, record, key, words that say what is wrong and what is allowed
    (RUN + "sped = 1", RunConfig, "sped", ("duration_s", "backlog")),
    (RUN + "[solver]\ntolerence = 1e-9", RunConfig, "tolerence", ("solver", "tolerance", "max_iterations")),
    (RUN + '[ports]\nresult = "tcp://127.0.0.1:1"', RunConfig, "result", ("ports", "results", "control")),
    ('source = "walker"', RunConfig, "name", ("required",)),
    (RUN + 'backlog = "8"', RunConfig, "backlog", ("int", "str")),
    (RUN + "methods = [1]", RunConfig, "methods[0]", ("str", "int")),
    (RUN + "solver = 1e-9", RunConfig, "solver", ("table", "float")),
    (RUN + "duration_s = -1.0", RunConfig, "duration_s", (">= 0",)),
    (RUN + "duration_s = nan", RunConfig, "duration_s", (">= 0",)),
    (RUN + "backlog = 0", RunConfig, "backlog", (">= 1",)),
    (RUN + "backlog = 5000", RunConfig, "backlog", ("<= 1024",)),
    (RUN + "[solver]\ntolerance = 1.0", RunConfig, "solver.tolerance", ("<= 0.001",)),
    (RUN + "[solver]\nmax_iterations = 1.5", RunConfig, "solver.max_iterations", ("int", "float")),
    (RUN + '[rates]\nkind = "savitzky_golay"\nwindow = 1', RunConfig, "window", ("window_s", "delay_s")),
    (RUN + '[rates]\nkind = "butterworth"\nwindow_s = 1', RunConfig, "window_s", ("cutoff_hz",)),
    (RUN + "[markers]\nfloor_mm = -40.0", RunConfig, "markers.floor_mm", ("> 0",)),
    (RUN + 'side = "up"', RunConfig, "side", ("up", "right", "left")),
    (RUN + "side = 1979-05-27", RunConfig, "side", ("date",)),
    (MODEL + "methods = {}\nbodies = []", ModelSpec, "bodies", (">= 1",)),
    (
        MODEL + "methods = {}\n" + ROOT_BODY.replace("free", "fre"),
        ModelSpec,
        "bodies[0].joint",
        ("fre", "hinge"),
    ),
    (
        MODEL + "methods = {}\n" + ROOT_BODY + "in_child = { offset_mm = [1.0, 2.0] }",
        ModelSpec,
        "bodies[0].in_child.offset_mm",
        (">= 3",),
    ),
    (
        MODEL + ROOT_BODY + "[methods.zero]\nsoft = { ACL = -1.0 }",
        ModelSpec,
        "methods.zero.soft.ACL",
        ("> 0",),
    ),
    (
        MODEL + ROOT_BODY + "[methods.zero]\nabuot = 'x'",
        ModelSpec,
        "abuot",
        ("methods.zero", "about", "hard"),
    ),
    (MODEL + SEGMENT + "gamma_deg = 0.0", Subject, "segments.thigh.gamma_deg", ("> 0",)),
    (
        MODEL + SEGMENT + "gamma_deg = 90.0\n[segments.thigh.markers_mm]\nRTH1 = [1.0, 2.0]",
        Subject,
        "segments.thigh.markers_mm.RTH1",
        (">= 3",),
    ),
    (MODEL + "[right]\nasis = ''", LabMap, "right", ("length >= 1",)),
]


@pytest.mark.parametrize(("text", "record", "key", "words"), MISTAKES, ids=[m[2] for m in MISTAKES])
def test_a_mistake_is_one_sentence(tmp_path, text, record, key, words):
    """Protects the user of a config: file, key, what is allowed and the remedy in one line."""
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_toml(path, record)
    said = str(caught.value)
    assert said.startswith(str(path))
    assert "\n" not in said
    for word in (key, *words):
        assert word in said, said
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'name = "x', ("not valid TOML", "correct the line")),
        (b'name = "x"\nname = "y"', ("not valid TOML", "correct the line")),
        (b"name = \xff", ("UTF-8",)),
        (b"x = " + b"[" * 5000, ("not valid TOML",)),
    ],
    ids=["unterminated", "twice", "not utf-8", "endless nesting"],
)
def test_what_is_no_toml_is_told(tmp_path, content, words):
    """Protects against damaged files: a sentence with the file's name, never a traceback."""
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_toml(path, RunConfig)
    said = str(caught.value)
    assert said.startswith(str(path))
    assert all(word in said for word in words), said


def test_a_missing_file_and_a_folder_are_told(tmp_path):
    """Protects against wrong paths."""
    with pytest.raises(ConfigError, match=r"none\.toml: no such file; check the path"):
        load_toml(tmp_path / "none.toml", RunConfig)
    with pytest.raises(ConfigError, match="is a folder"):
        load_toml(tmp_path, RunConfig)


def test_a_byte_order_mark_and_line_ends_do_no_harm(tmp_path):
    """Protects files that were edited on Windows."""
    path = tmp_path / "mine.toml"
    path.write_bytes(b'\xef\xbb\xbfname = "x"\r\nbacklog = 3\r\n')
    assert load_toml(path, RunConfig) == RunConfig(name="x", backlog=3)


def test_numbers_that_no_run_can_use_are_refused():
    """Protects the loop from an infinite duration, which no clock can add, and counts no array can hold."""
    for text in ("duration_s = inf", f"[markers]\nn_learn = {10**30}"):
        with pytest.raises(ConfigError):
            check_record(parse_toml(RUN + text, "mine.toml"), RunConfig, "mine.toml")


SHIPPED = [
    ("models/lower_limb.toml", ModelSpec),
    ("subjects/walker.toml", Subject),
    ("labs/gait2392.toml", LabMap),
    ("models/finger.toml", ModelSpec),
    ("models/mechanism.toml", ModelSpec),
]


@pytest.mark.parametrize(("name", "record"), SHIPPED)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_damaged_config_is_read_or_refused(data, name, record):
    """Protects against every slip of the keyboard: a record or a ConfigError with one line, nothing else."""
    text = (configs_root() / name).read_text(encoding="utf-8")
    start = data.draw(st.integers(0, len(text) - 1))
    length = data.draw(st.integers(0, 12))
    damaged = text[:start] + data.draw(st.text(max_size=6)) + text[start + length :]
    said = ""
    try:
        assert isinstance(check_record(parse_toml(damaged, "damaged.toml"), record, "damaged.toml"), record)
    except ConfigError as error:
        said = str(error)
    assert not said or (said.startswith("damaged.toml: ") and "\n" not in said)


def test_records_are_frozen():
    """Protects a run from being changed under way."""
    with pytest.raises(AttributeError):
        RunConfig(name="x").backlog = 3  # type: ignore[misc]
    assert msgspec.structs.replace(RunConfig(name="x"), backlog=3).backlog == 3


def test_no_config_is_read_without_its_path():
    """Protects the messages: the path comes first even for a relative one."""
    with pytest.raises(ConfigError, match=r"^nowhere.mine\.toml"):
        load_toml(Path("nowhere") / "mine.toml", RunConfig)
