"""`rtsim check`: is a config right?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtsim.cli.lines import tell
from rtsim.config.paths import configs_root
from rtsim.errors import ConfigError

if TYPE_CHECKING:
    from rtsim.config.model_schema import ModelSpec

# what is a table (dict), or an array of tables (list), in one kind of config only
KINDS = {
    "bodies": (list, "model"),
    "methods": (dict, "model"),
    "segments": (dict, "subject"),
    "right": (dict, "lab"),
    "left": (dict, "lab"),
}


@click.command("check")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
def command(paths: tuple[Path, ...]) -> None:
    """Check configs (PATHS, or all shipped ones): models, labs, runs and subjects, by content."""
    chosen = paths or tuple(sorted(configs_root().glob("*/*.toml")))
    faults = 0
    for path in chosen:
        try:
            tell(f"{path}: {check_config(path)}", err=False)
        except ConfigError as error:
            faults += 1
            tell(str(error))
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
        return f"model {spec.name}: {size_of(spec)}, methods {', '.join(spec.methods)}"
    if kind == "subject":
        subject = load_subject(path)
        return (
            f"subject {subject.name}: {len(subject.segments)} segments, {len(subject.marker_names)} markers"
        )
    if kind == "lab":
        return f"lab {load_lab(str(path)).name}"
    return f"run {load_toml(path, Run).name}"


def check_model(spec: ModelSpec) -> None:
    """Pack every method: finds landmarks and targets that are missing, and joints that a method lacks.

    A model that needs a person's anatomy is packed with the shipped subject; such a model follows markers,
    unless coordinates of it are coupled or move bodies by functions.
    """
    from rtsim.config.paths import find_config
    from rtsim.models.packing.mechanism import pack_mechanism
    from rtsim.models.packing.model import dependence, pack
    from rtsim.models.subject import load_subject

    subject = load_subject(find_config("walker", "subjects")) if spec.of_subject else None
    for method, how in spec.methods.items():
        if subject is not None and dependence(spec, how) is None:
            pack(spec, subject, method)
        pack_mechanism(spec, subject, method)


def size_of(spec: ModelSpec) -> str:
    """How many bodies there are, and of what else there is something."""
    from rtsim.files.trial import count_of

    parts = {
        "element": spec.elements,
        "coupler": spec.couplers,
        "surface": spec.surfaces,
        "muscle": spec.muscles,
        "angle": spec.angles,
        "ligament": spec.ligaments,
        "spring": spec.springs,
        "contact": spec.contacts,
        "friction": spec.frictions,
        "load": spec.loads,
    }
    bodies = "1 body" if len(spec.bodies) == 1 else f"{len(spec.bodies)} bodies"
    return ", ".join([bodies, *(count_of(len(part), name) for name, part in parts.items() if part)])


def kind_of(path: Path) -> str:
    """model, subject, lab or run, by the tables in the file."""
    from rtsim.config.load import read_toml

    data = read_toml(path)
    return next((kind for key, (form, kind) in KINDS.items() if isinstance(data.get(key), form)), "run")
