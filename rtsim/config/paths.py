"""Location of the shipped configs: inside an installed package, or beside it in a checkout."""

from __future__ import annotations

import os
from pathlib import Path

from rtsim.config.reading import is_file
from rtsim.errors import ConfigError


def configs_root() -> Path:
    """Return the folder of this installation that holds models/, labs/, runs/ and subjects/."""
    package = Path(__file__).resolve().parents[1]
    for candidate in (package / "configs", package.parent / "configs"):
        if (candidate / "models").is_dir():
            return candidate
    raise ConfigError(
        "the shipped configs are missing from this installation",
        where=str(package),
        remedy="reinstall rtsim from a complete package (wheel)",
    )


def find_config(name: str, folder: str) -> Path:
    """Return the path of a config given as a file path, or by the name of a shipped one in `folder`."""
    path = Path(name)
    if path.suffix == ".toml":
        if is_file(path):
            return path
        raise ConfigError(f"no such file {name!r}", where="config", remedy=shipped_remedy(folder))
    path = configs_root() / folder / f"{name}.toml"
    if is_file(path):
        return path
    raise ConfigError(f"no config named {name!r} in {folder}/", where="config", remedy=shipped_remedy(folder))


def shipped_names(folder: str) -> list[str]:
    """Return the names of the shipped configs of one kind."""
    return sorted(path.stem for path in (configs_root() / folder).glob("*.toml"))


def shipped_remedy(folder: str) -> str:
    names = ", ".join(shipped_names(folder))
    return f"give the path of a .toml file, or the name of a config that comes with rtsim: {names}"


def beside(name: str, folder: Path) -> str:
    """Return the path of a file that a config in `folder` names: that of the file beside the config, if there
    is one. Any other name, and that of a file which the working folder shares, is returned as it is.
    """
    path = folder / name
    if not name or not is_file(path) or (is_file(name) and os.path.samefile(path, name)):
        return name
    return str(path)
