"""The option for a browser page, for the command that serves it and for those that start it with a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from rtsim.errors import ConfigError

PLACE = "127.0.0.1:5580"


def page_option(words: str) -> Callable[..., Any]:
    """Return the option --page, which may be given alone or with an address; words : its help text."""
    return click.option(
        "--page", metavar="[HOST:]PORT", is_flag=False, flag_value=PLACE,
        help=f"{words} ({PLACE} if no address follows; port 0 takes any free port).",
    )  # fmt: skip


def check_page(page: str) -> None:
    """Raise ConfigError, before any slow work, if a page could not be served at this address."""
    from rtsim.bridges.page_access import place_of

    if not place_of(page).is_here:
        raise ConfigError(
            f"{page} can be reached from the network", where="--page", allowed="this machine alone",
            remedy="serve the page by `rtsim serve --page` in a process of its own, with a certificate",
        )  # fmt: skip
