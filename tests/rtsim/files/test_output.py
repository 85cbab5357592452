"""Files that are to be written: where that cannot be, it is said before the work."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rtsim.errors import ConfigError
from rtsim.files.output import check_folder, check_free


def test_a_folder_that_takes_nothing_is_told_before_the_work(tmp_path: Path, monkeypatch) -> None:
    """Protects the result of a long run: a folder without the right to write is refused at its start."""
    monkeypatch.setattr(os, "access", lambda folder, mode: not (mode == os.W_OK and folder == tmp_path))
    with pytest.raises(ConfigError, match=f"nothing may be written into {tmp_path}; give another folder"):
        check_free(tmp_path / "a.toml")
    with pytest.raises(ConfigError, match="--out: nothing may be written"):
        check_folder(tmp_path / "a.mot", "--out")
