"""Files of `rtsim fit torque-generators`: the set of generators or the model that names it, the motion, and
the written set of the person.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtsim.config.reading import is_file
from rtsim.errors import ConfigError
from rtsim.files.formats import MARKERS, has_format, of_laboratories

if TYPE_CHECKING:
    from rtsim.config.models.torque_generator_schema import GeneratorSet
    from rtsim.methods.generators.joint_motion import JointMotion
    from rtsim.methods.generators.torque_generator_fit import FittedGenerator
    from rtsim.models.packing.torque_generators import PlacedGenerator


def set_of(model: str) -> tuple[str, str]:
    """Return the name or file of the set of torque generators that --model gives, and the model that uses it;
    the latter is "" if --model gives a set alone.
    """
    from rtsim.config.paths import shipped_names
    from rtsim.models.load import load_model

    path = Path(model)
    if model in shipped_names("generators") or (is_file(path) and is_set(path)):
        return model, ""
    if not path.suffix and model not in shipped_names("models"):
        names = sorted({*shipped_names("generators"), "planar_body"})
        raise ConfigError(
            f"there is no file {model!r}, and no set or model of this name comes with rtsim",
            where="--model",
            allowed=f"a .toml file, {', '.join(names)}",
        )
    said = load_model(model).torque_generators
    if said is None:
        raise ConfigError(
            "the model has no torque generators", where=f"--model {model}",
            remedy='add [torque_generators] with set = "planar"',
        )  # fmt: skip
    return said.set, model


def is_set(path: Path) -> bool:
    """Return whether a config file is a set of torque generators, and not a model: whether it has keys that
    only a set has, or no keys but those that a set may have.
    """
    from rtsim.cli.commands.check import kind_of
    from rtsim.config.load import read_toml
    from rtsim.config.models.torque_generator_schema import GeneratorSet

    return kind_of(path) == "generators" or {*read_toml(path)} <= {*GeneratorSet.__struct_fields__}


def motion_of(
    path: Path, body: GeneratorSet, spec: str, forces: Path | None, config: str | None
) -> JointMotion:
    """Read joint angles and moments from a file; a file of markers is analysed first.

    body : set of torque generators, which names the joints
    spec : model with which markers are analysed, "" = none
    forces, config : files of force plates and run config for that analysis
    """
    from rtsim.cli.runs.analysed import analysed
    from rtsim.methods.generators.joint_motion import read_joint_motion

    joints = [joint.coordinate for joint in body.joints]
    if not has_format(path, of_laboratories(MARKERS)):
        for option, value in (("--forces", forces), ("--config", config)):
            if value is not None:
                raise ConfigError(
                    "the option applies only if MOTION is a file of markers",
                    where=option,
                    remedy="leave it out",
                )
        return read_joint_motion(path, joints, body.columns)
    if forces is None or not spec:
        raise ConfigError(
            "markers have to be analysed before generators can be fitted", where=str(path),
            remedy="give --forces FILE and --model MODEL, a model with its own markers and torque generators",
        )  # fmt: skip
    with analysed(path, spec, forces, config) as results:
        try:
            return read_joint_motion(results, joints, body.columns)
        except ConfigError as error:  # the recording is gone when it is read
            raise ConfigError(
                error.what, where=str(path), allowed=error.allowed, remedy=error.remedy
            ) from None


def check_config_name(out: Path) -> None:
    """Raise ConfigError for a name of the output file that no command could read as a config."""
    if out.suffix.lower() != ".toml":
        raise ConfigError(
            f"{out} cannot be the name of a file of torque generators",
            where="--out",
            allowed="a name that ends in .toml",
        )


def write_set(
    out: Path,
    fits: list[FittedGenerator],
    model: str,
    motion: Path,
    placed: tuple[PlacedGenerator, ...],
    body: GeneratorSet,
) -> None:
    """Write a set of torque generators for a person to the file `out`: it names the set from which the fit
    started and contains the fitted values that replace those of that set.

    fits : results of the fits
    model : name or file of the set from which the fit started
    motion : file of the motion to which the generators were fitted
    placed : the generators at the joints of the model before the fit
    body : contents of the set from which the fit started
    """
    from rtsim.files.output import write_text
    from rtsim.methods.generators.torque_generator_fit import INTERRUPTED
    from rtsim.report.torque_generators import config_text

    base = os.path.realpath(model) if model.endswith(".toml") else model
    strengths = {one.name: (body.generators[one.muscle].strength_Nm, one.spec.strength_Nm) for one in placed}
    source = f"fitted to {motion.name} by rtsim fit torque-generators"
    if any(fit.fault == INTERRUPTED or fit.cut_short for fit in fits):
        source += ", interrupted"
    write_text(out, config_text(fits, out.stem, base, source, strengths))
    click.echo(f"wrote {out}", err=True)
