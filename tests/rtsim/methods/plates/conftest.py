"""Fixtures of the tests of force plates."""

from __future__ import annotations

import pytest

from tests.rtsim.methods.plates.standing_person import Stand, standing_person


@pytest.fixture
def stand() -> Stand:
    """Give each test a person who stands on two plates."""
    return standing_person()
