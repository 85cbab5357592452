"""Shared set-up of all tests."""

import os
from pathlib import Path

import pytest

# Before any kernel is imported: make every kernel callable from Python (also in child processes).
os.environ.setdefault("RTSIM_WRAP_KERNELS", "1")

SHARED = Path(__file__).resolve().parents[1].parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of real recordings and reference solutions; tests that need it are skipped without it."""
    if not SHARED.is_dir():
        pytest.skip("the shared recordings are not here")
    return SHARED
