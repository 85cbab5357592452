"""`rtsim tune`: sets parameters of a run with a device, by the user during the run, or by a search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rtsim.cli.terminal.plotting import plot_options
from rtsim.cli.terminal.ports import offset_option, placed
from rtsim.cli.terminal.security import connect_options, connect_security
from rtsim.cli.terminal.types import Address, Config, texts_of
from rtsim.device.requests import OF_RUN
from rtsim.errors import ConfigError
from streams.sockets import CONTROL_ADDRESS

SEARCHES = ("dial", "preference", "bayesian", "cma")
OF_SEARCHES = ("offline", "costs", "operator", "budget", "seed", "processes", "together", "file", "blocks",
               "results", "plot", "plot_size", "plot_dpi")  # fmt: skip
"""Options for --auto and --validate only."""


@click.command("tune")
@click.argument("config", required=False, type=Config("hil"))
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set the controller's parameter NAME to VALUE, for example stiffness=30 (repeatable).",
)
@click.option("--undo", is_flag=True, help="Undo the last change.")
@click.option("--save", metavar="NAME", help="Keep the present parameters as a snapshot of this name.")
@click.option(
    "--switch",
    metavar="NAME",
    help="Set the parameters back to the snapshot of this name; `start` is the setting of the config.",
)
@click.option(
    "--over",
    "over_s",
    type=float,
    metavar="S",
    help="Time over which parameters change to new values [s] (default: from the config).",
)
@click.option("--auto", "auto", type=click.Choice(SEARCHES),
              help="Search for the setting of CONFIG with the lowest cost, with this method.")  # fmt: skip
@click.option("--validate", is_flag=True,
              help="Compare the default setting, the best setting in --file and zero torque, in blocks of "
                  "random and then reversed order.")  # fmt: skip
@click.option("--offline", is_flag=True, help="Search in simulations, not in the running `rtsim hil`.")
@click.option("--cost", "costs", multiple=True, metavar="FIELD[.LABEL][:REDUCTION]",
              help="Cost that is computed from each cycle of the motion, instead of tuning.costs "
                  "(repeatable: costs are added).")  # fmt: skip
@click.option(
    "--operator",
    is_flag=True,
    help="Ask the operator to type costs, or to say which of two settings is better.",
)
@click.option(
    "--budget",
    type=click.IntRange(2, 100_000),
    help="Number of settings to be tried (default: from the config).",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="Seed of the search, and of the random order in --validate (default: 0).",
)
@click.option(
    "--processes",
    type=click.IntRange(1, 256),
    help="With --offline: number of simulations that run at the same time (default: one for each processor).",
)
@click.option("--together", type=click.IntRange(1, 64),
              help="Number of settings that a Bayesian search with --offline tries at the same time, after "
                  "its first settings (default: 2).")  # fmt: skip
@click.option("--file", "file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.json",
              help="Keep every trial in this file; a search in an existing file is continued.")  # fmt: skip
@click.option(
    "--blocks",
    type=click.IntRange(2, 1000),
    help="Number of blocks in --validate, with two runs of each setting (default: 6).",
)
@plot_options
@click.option(
    "--results", type=Address(), help="Address of the results of the run (default: from the config)."
)
@click.option("--control", type=Address(), show_default=CONTROL_ADDRESS, help="Control address.")
@offset_option(auto=False)
@connect_options
def command(
    config: str | None, settings: tuple[str, ...], over_s: float | None, auto: str | None, validate: bool,
    control: str | None, port_offset: int, client_key: str | None, server_key: str | None, **asked: Any,
) -> None:  # fmt: skip
    """Set parameters of a running `rtsim hil` within the ranges of its config; without an option, list them.

    With --auto or --validate, CONFIG states the tuned parameters and their cost function (table [tuning]); it
    is a .toml file, or the name of one that comes with rtsim. Ctrl-C ends a search: parameters return to
    their former values, and the best setting so far is stored.
    """
    from streams.control.commands import request

    searching = {name: asked.pop(name) for name in OF_SEARCHES}
    if auto or validate:
        from rtsim.cli.runs.tuned import search

        by_hand = next((name for name, value in {**asked, "set": settings}.items() if value), None)
        if by_hand or (auto and validate):
            first = "validate" if auto and validate else by_hand
            other = "auto" if auto else "validate"
            raise ConfigError(f"--{first} and --{other} cannot be combined", where="tune", remedy="give one")
        if config is None:
            raise ConfigError(
                "the name of a config is missing", where="tune", remedy="name a config, such as ankle"
            )
        search(config, auto or "", over_s, (control, port_offset), (client_key, server_key), searching)
        return
    given = next((name for name, value in searching.items() if value), None)
    if given or config:
        what = f"--{given.rstrip('s') if given == 'costs' else given}" if given else "CONFIG"
        raise ConfigError(
            "the option applies only to searches", where=what, remedy="add --auto METHOD or --validate"
        )
    address = placed({"--control": control}, {"--control": CONTROL_ADDRESS}, port_offset)["--control"]
    name, args = wanted(settings, asked)
    if over_s is not None:
        if name in ("list", "save"):
            raise ConfigError("nothing changes", where="--over", remedy="add --set, --undo or --switch")
        args["over_s"] = over_s
    security = connect_security(client_key, server_key)
    ok, text = request(address, name, args, security=security, asked=OF_RUN)
    if not ok:
        raise ConfigError(text, where=f"tune ({name})")
    click.echo(text)


def wanted(settings: tuple[str, ...], asked: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name of the command to the running model (list, set, undo, save or switch) for the given
    options, and its arguments.

    settings : words NAME=VALUE of --set
    asked : values of the other options, by name
    """
    given = [key for key, value in asked.items() if value] + (["set"] if settings else [])
    if len(given) > 1:
        raise ConfigError(
            f"--{given[0]} and --{given[1]} cannot be combined", where="tune", remedy="give one"
        )
    if not given:
        return "list", {}
    if given[0] == "set":
        return "set", dict(texts_of(settings, "--set", "NAME=VALUE"))
    return given[0], {} if given[0] == "undo" else {"name": asked[given[0]]}
