"""Benches that a wheel does not have: found in a checkout, and told of elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

import rtsim
from rtsim.cli.benches.bench_group import need_checkout
from rtsim.cli.main import cli
from rtsim.errors import ConfigError


def test_a_checkout_has_them() -> None:
    """Protects who develops: here nothing is missing."""
    need_checkout()


@pytest.mark.parametrize("bench", ["adapters", "capacity", "damage", "faults", "hostile", "opensim", "soak"])
def test_an_installed_package_says_that_it_has_none(
    bench: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Protects who installed a wheel: a sentence, and no foreign package of that name is run."""
    monkeypatch.setattr(rtsim, "__file__", str(tmp_path / "site-packages" / "rtsim" / "__init__.py"))
    with pytest.raises(ConfigError, match="not included in an installed rtsim; clone the repository"):
        cli.main(["bench", bench], standalone_mode=False)
