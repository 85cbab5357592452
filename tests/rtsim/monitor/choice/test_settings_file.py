"""What the window keeps between starts; files that are damaged, foreign, or cannot be written."""

from pathlib import Path

import pytest

from rtsim.monitor.choice.panel_choice import PanelChoice
from rtsim.monitor.choice.settings_file import WindowSettings, read_settings, write_settings


def test_what_was_chosen_comes_back(tmp_path: Path) -> None:
    """Protects the next start: the choice and the rest are read as they were written."""
    path = tmp_path / "new" / "monitor.json"
    settings = WindowSettings(duration_s=30, dark=True, size=(1920, 1080), feedback_band=(5.0, 15.0))
    settings.take_choice(PanelChoice("clinic", {"joint_angles/Hip": False}, {"a/b/c"}, {"contact"}))
    assert write_settings(path, settings) == ""
    again, fault = read_settings(path)
    assert fault == ""
    assert again == settings
    assert again.choice() == PanelChoice("clinic", {"joint_angles/Hip": False}, {"a/b/c"}, {"contact"})


def test_no_file_is_no_fault(tmp_path: Path) -> None:
    """Protects the first start from a sentence about nothing."""
    assert read_settings(tmp_path / "none.json") == (WindowSettings(), "")
    assert read_settings(None) == (WindowSettings(), "")
    assert write_settings(None, WindowSettings()) == ""


BROKEN = [
    b"", b"{", b"\xff\xfe", b"[]", b"null", b'{"task": 7}', b'{"task": "surgery"}', b'{"other": 1}',
    b'{"size": [1, 1]}', b'{"size": [1280]}', b'{"pictures": ["moon"]}', b'{"duration_s": 1e400}',
    b'{"panels": {"a": "yes"}}', b'{"feedback_band": [1]}', b"[" * 100_000, b" " * (2 << 20),
]  # fmt: skip


@pytest.mark.parametrize("content", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_file_is_told_and_ignored(tmp_path: Path, content: bytes) -> None:
    """Protects the start of the window: whatever is in the file, one sentence and the usual settings."""
    path = tmp_path / "monitor.json"
    path.write_bytes(content)
    settings, fault = read_settings(path)
    assert settings == WindowSettings()
    assert str(path) in fault
    assert "\n" not in fault


def test_folders_in_the_way_are_told(tmp_path: Path) -> None:
    """Protects against a crash on closing: what cannot be kept is told in a sentence."""
    path = tmp_path / "monitor.json"
    path.mkdir()
    assert "folder" in read_settings(path)[1]
    assert "could not be saved" in write_settings(path, WindowSettings())
    (tmp_path / "file").write_text("")
    assert "could not be saved" in write_settings(tmp_path / "file" / "monitor.json", WindowSettings())
