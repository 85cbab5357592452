"""`rtsim fit`: its fits are found by folder."""

from __future__ import annotations

import pkgutil

import rtsim.cli.fits
from rtsim.cli.commands.fit import command


def test_every_module_of_the_folder_is_a_fit():
    """Protects the count of a fit: one file, named as its command, and nothing else."""
    names = {module.name.replace("_", "-") for module in pkgutil.iter_modules(rtsim.cli.fits.__path__)}
    assert set(command.commands) == names
    assert all(one.get_short_help_str() for one in command.commands.values())
