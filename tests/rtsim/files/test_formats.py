"""One table of file formats: what is read, what is refused, and what help texts say."""

from __future__ import annotations

from pathlib import Path

import pytest

import rtsim.cli.commands.analyse
import rtsim.cli.commands.check
from rtsim.errors import ConfigError
from rtsim.files.formats import (
    FORCES,
    MARKERS,
    PRESSURE,
    FileFormat,
    check_format,
    in_words,
    listed,
    of_laboratories,
    read,
)

TABLES = {"markers": MARKERS, "forces": FORCES, "pressure": PRESSURE}


@pytest.mark.parametrize("name", TABLES)
def test_suffixes_are_unique_and_have_readers(name: str) -> None:
    """Protects the table: one suffix, one reader, which is there."""
    rows = TABLES[name]
    assert len({row.suffix for row in rows}) == len(rows)
    assert all(row.suffix == row.suffix.lower() and row.suffix.startswith(".") for row in rows)
    assert all(callable(row.reader()) for row in rows)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("file", ["walk.xyz", "walk", ".trc/", "walk.TRC.txt"])
def test_another_format_is_refused_with_those_there_are(name: str, file: str, tmp_path: Path) -> None:
    """Protects users: files of other formats and folders are refused with the list, whatever is in them."""
    path = tmp_path / file
    if file.endswith("/"):
        path.mkdir()
    with pytest.raises(ConfigError) as error:
        check_format(path, TABLES[name], name, "export it")
    assert listed(TABLES[name]) in str(error.value)
    assert "a folder" in str(error.value) or "files of type" in str(error.value)


def test_capitals_of_a_suffix_do_not_matter() -> None:
    """Protects files of systems that write WALK.C3D."""
    assert check_format("WALK.C3D", MARKERS, "markers", "").suffix == ".c3d"


def test_a_reader_is_told_what_it_takes_alone() -> None:
    """Protects readers: options of other formats do not reach them."""
    given: dict[str, object] = {}
    row = FileFormat(".x", lambda: lambda path, **options: given.update(options), takes=("person",))
    read(row, "a.x", up="Y", units=None, person="P", virtual=True)
    assert given == {"up": "Y", "units": None, "person": "P"}


def test_lists_are_in_words() -> None:
    """Protects sentences: a list of formats reads as one."""
    assert in_words(MARKERS) == "a .trc, .c3d or .mcap file"
    assert in_words(MARKERS[:1]) == "a .trc file"
    assert listed(of_laboratories(MARKERS)) == ".trc, .c3d"


def test_help_texts_name_the_formats() -> None:
    """Protects `--help`: what the table has stands there, and no word that stands for it."""
    helps = [str(module.command.help) for module in (rtsim.cli.commands.analyse, rtsim.cli.commands.check)]
    assert listed(MARKERS) in helps[0]
    assert listed(PRESSURE) in helps[1]
    assert "_FILES" not in "".join(helps)


@pytest.mark.parametrize("row", [*MARKERS, *FORCES], ids=lambda row: row.suffix)
def test_check_says_what_reads_a_recording(row: FileFormat, tmp_path: Path) -> None:
    """Protects `rtsim check FILE`: a recording is no config, and what reads it is named."""
    path = tmp_path / f"walk{row.suffix}"
    path.write_text("x")
    with pytest.raises(ConfigError, match=r"not a config.*rtsim"):
        rtsim.cli.commands.check.check_config(path)


@pytest.mark.parametrize("suffix", [".forces", ".mot", ".c3d"])
def test_an_empty_file_of_another_kind_is_no_run(tmp_path: Path, suffix: str) -> None:
    """Protects who checks an empty recording from being asked for the name of a run."""
    path = tmp_path / f"empty{suffix}"
    path.touch()
    with pytest.raises(ConfigError, match="file that is not a config"):
        rtsim.cli.commands.check.check_config(path)
