"""`rtsim fit`: parameters of a model from measurements; one sub-command per module of rtsim/cli/fits."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import click

import rtsim.cli.fits


@click.group("fit")
def command() -> None:
    """Find parameters of a model that fit measurements of a person.

    A fit writes a config that the other commands read, and reports which parameters the data do not
    determine.
    """


for module in sorted(pkgutil.iter_modules(rtsim.cli.fits.__path__), key=lambda module: module.name):
    command.add_command(import_module(f"{rtsim.cli.fits.__name__}.{module.name}").command)
