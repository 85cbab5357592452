"""`rtsim show`: prints a shipped config, or copies one as a starting point."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

import click

from rtsim.cli.terminal.lines import tell
from rtsim.config.load import read_toml
from rtsim.config.paths import configs_root
from rtsim.errors import ConfigError
from rtsim.files.output import check_free, write_text

N_NEAREST = 3
BY_SOURCE = ("labs", "subjects")
"""Folders whose configs have no description of their own; they are listed with their source instead."""


@click.command("show")
@click.argument("name", required=False)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the config into FILE (.toml), where it can be changed.",
)
@click.option("--force", is_flag=True, help="Replace a file that exists already.")
def command(name: str | None, out: Path | None, force: bool) -> None:
    """Print the config NAME that comes with rtsim, or write it to a file of your own; without NAME, list all
    of them.

    If configs of several kinds have this name, give models/NAME, runs/NAME, ...
    """
    if name is None:
        if out is not None:
            raise ConfigError(
                "the name of a config is missing",
                where="--out",
                remedy="give the NAME of a config that comes with rtsim",
            )
        list_all()
        return
    path = shipped_config(name)
    text = path.read_text(encoding="utf-8")
    if out is None:
        click.echo(text, nl=False)
        return
    if out.suffix != ".toml":
        raise ConfigError(
            f"{out} cannot be the name of a config file", where="--out", allowed="a name that ends in .toml"
        )
    check_free(out, overwrite=force)
    write_text(out, text)
    tell(f"wrote {out}; after changing it, run: rtsim check {out}")


def all_configs() -> dict[str, Path]:
    """Return the shipped configs by folder and name, such as models/knee."""
    root = configs_root()
    return {f"{path.parent.name}/{path.stem}": path for path in sorted(root.glob("*/*.toml"))}


def shipped_config(name: str) -> Path:
    """Return the shipped config with a name, with or without its folder; ConfigError if there is none."""
    known = all_configs()
    given = name.removesuffix(".toml").removeprefix("configs/")
    found = [key for key in known if given in (key, key.partition("/")[2])]
    if len(found) == 1:
        return known[found[0]]
    if found:
        raise ConfigError(
            f"{name!r} is the name of {len(found)} configs", where="NAME",
            remedy=f"give one of these names: {', '.join(found)}",
        )  # fmt: skip
    by_word = {word: key for key in known for word in (key, key.partition("/")[2])}
    near = [by_word[word] for word in get_close_matches(given, by_word, N_NEAREST, 0.6)]
    raise ConfigError(
        f"no config named {name!r} comes with rtsim", where="NAME",
        remedy=f"perhaps {' or '.join(dict.fromkeys(near))}" if near else "`rtsim show` lists them all",
    )  # fmt: skip


def list_all() -> None:
    """Print the configs by folder, each with its description."""
    folder = ""
    for key, path in all_configs().items():
        kind, _, name = key.partition("/")
        if kind != folder:
            folder = kind
            click.echo(f"{folder}/")
        click.echo(f"  {name:<20} {what_it_is(path)}")


def what_it_is(path: Path) -> str:
    """Return the description of a config: the first line of its opening comment, or its source."""
    if path.parent.name in BY_SOURCE:
        return str(read_toml(path)["source"])
    return path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
