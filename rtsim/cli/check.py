"""`rtsim check`: is a config right?"""

from __future__ import annotations

from pathlib import Path

import click

from rtsim.config.paths import configs_root
from rtsim.errors import ConfigError

KINDS = {"methods": "model", "segments": "subject", "right": "lab", "left": "lab"}


@click.command("check")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
def command(paths: tuple[Path, ...]) -> None:
    """Check configs (PATHS, or all shipped ones): models, labs, runs and subjects, by content."""
    chosen = paths or tuple(sorted(configs_root().glob("*/*.toml")))
    faults = 0
    for path in chosen:
        try:
            click.echo(f"{path}: {check_config(path)}")
        except ConfigError as error:
            faults += 1
            click.echo(str(error), err=True)
    if faults:
        raise ConfigError(f"{faults} of {len(chosen)} configs are not right", where="check")


def check_config(path: Path) -> str:
    """What the config is; ConfigError says what is wrong with it."""
    from rtsim.config.load import load_toml
    from rtsim.config.model_schema import ModelSpec
    from rtsim.config.run_schema import Run
    from rtsim.models.labs import load_lab
    from rtsim.models.subject import load_subject

    kind = kind_of(path)
    if kind == "model":
        spec = load_toml(path, ModelSpec)
        check_model(spec)
        size = f"{len(spec.bodies)} bodies, {len(spec.elements)} elements"
        return f"model {spec.name}: {size}, methods {', '.join(spec.methods)}"
    if kind == "subject":
        subject = load_subject(path)
        return (
            f"subject {subject.name}: {len(subject.segments)} segments, {len(subject.marker_names)} markers"
        )
    if kind == "lab":
        return f"lab {load_lab(str(path)).name}"
    return f"run {load_toml(path, Run).name}"


def check_model(spec: object) -> None:
    """Pack every method with the shipped subject: finds unknown segments, elements and missing targets."""
    from rtsim.config.model_schema import ModelSpec
    from rtsim.config.paths import find_config
    from rtsim.models.packing.model import pack
    from rtsim.models.subject import load_subject

    assert isinstance(spec, ModelSpec)
    subject = load_subject(find_config("walker", "subjects"))
    for method in spec.methods:
        pack(spec, subject, method)


def kind_of(path: Path) -> str:
    """model, subject, lab or run, by the tables in the file."""
    from rtsim.config.load import read_toml

    data = read_toml(path)
    return next((kind for key, kind in KINDS.items() if isinstance(data.get(key), dict)), "run")
