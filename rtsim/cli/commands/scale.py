"""`rtsim scale`: scales a model to a person by a static trial, or the planar body by sex, mass and
stature.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtsim.cli.terminal.lines import json_text, tell
from rtsim.cli.terminal.marker_options import PERSON_OPTION
from rtsim.errors import ConfigError
from rtsim.files.formats import MARKERS, listed, of_laboratories
from rtsim.files.output import check_free

if TYPE_CHECKING:
    from rtsim.methods.kinematics.scaling import Scaled

SUFFIXES = (".osim", ".toml")
STATURES_MM, PER_SQUARE = (500.0, 2500.0), (8.0, 120.0)
"""Ranges of people: statures [mm], and kilograms per square metre of stature."""


@click.command("scale")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--setup", type=click.Path(path_type=Path), help="Setup file of OpenSim's scale tool (.xml).")
@click.option(
    "--static",
    type=click.Path(path_type=Path),
    help=f"Static trial ({listed(of_laboratories(MARKERS))}), instead of the trials in the setup file.",
)
@PERSON_OPTION
@click.option("--mass", "mass_kg", type=float, help="Mass of the person [kg], instead of the setup's.")
@click.option(
    "--stature", "stature_mm", type=float, help="Stature of the person [mm], for the model planar_body."
)
@click.option(
    "--sex",
    type=click.Choice(["male", "female"]),
    help="Sex of the person, for the body proportions of the model planar_body.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Scaled model: .osim or .toml.",
)
@click.option("--json", "as_json", is_flag=True, help="Print factors, masses and marker errors as JSON.")
@click.option("--force", is_flag=True, help="Replace a file that exists already.")
def command(
    model: Path,
    setup: Path | None,
    static: Path | None,
    person: str | None,
    mass_kg: float | None,
    stature_mm: float | None,
    sex: str | None,
    out: Path,
    as_json: bool,
    force: bool,
) -> None:
    """Scale MODEL (.osim or .toml) to a person by marker distances, and place its markers as measured.

    Without --setup, the planar_body is scaled to a person of --sex, --mass and --stature.
    """
    from rtsim.cli.terminal.compiling import compile_first
    from rtsim.cli.terminal.console import LastingConsole
    from rtsim.config.bounds import UNITS
    from rtsim.files.model_toml import model_text
    from rtsim.files.osim.scaled import scaled_text
    from rtsim.files.osim.setup_scale import read_scale_setup
    from rtsim.files.output import write_text
    from rtsim.methods.kinematics.scaling import scale
    from rtsim.models.load import OPENSIM, load_model

    suffix = out.suffix.lower()
    if suffix not in SUFFIXES:
        raise ConfigError(
            f"{out} cannot be the name of a model file",
            where="--out",
            allowed="a name that ends in .osim or .toml",
        )
    if suffix == OPENSIM and model.suffix.lower() != OPENSIM:
        raise ConfigError(
            f"{model} is not an OpenSim model, so no .osim file can be written",
            where="--out",
            allowed="a name that ends in .toml",
        )
    most = UNITS["kg"][1]
    if mass_kg is not None and not 0.0 < mass_kg <= most:
        raise ConfigError(
            f"a body mass of {mass_kg:g} kg is impossible",
            where="--mass",
            allowed=f"a body mass above 0 kg, up to {most:g} kg",
        )
    check_free(out, overwrite=force)
    if setup is None:
        write_text(out, body_of(str(model), sex, mass_kg, stature_mm, static))
        click.echo(f"wrote {out}", err=True)
        return
    if sex or stature_mm is not None:
        raise ConfigError(
            "sex and stature of a person are used only for the model planar_body", where="--sex, --stature",
            remedy="remove these options, or --setup",
        )  # fmt: skip
    read = read_scale_setup(setup)
    if mass_kg is not None:
        read = read._replace(mass_kg=mass_kg)
    for note in read.notes:
        tell(f"{setup}: {note}")
    spec = load_model(str(model), tell)
    groups = ("moment-arms",) if read.placer is None else ("model", "moment-arms")
    compile_first(LastingConsole(stderr=True), groups)
    scaled = scale(spec, read, static, tell, person or "")
    text = (
        scaled_text(model, scaled.factors, scaled.spec, scaled.ratios)
        if suffix == OPENSIM
        else model_text(scaled.spec, f"{model.name} scaled as {setup.name} states")
    )
    write_text(out, text)
    click.echo(json_text(as_table(scaled)) if as_json else as_lines(scaled))
    click.echo(f"wrote {out}", err=True)


def body_of(
    model: str, sex: str | None, mass_kg: float | None, stature_mm: float | None, static: object
) -> str:
    """Return the text of a model file with the planar body of a person; ConfigError if an option is missing
    or does not apply.

    static : value of --static, which this model does not use
    """
    from rtsim.files.model_toml import model_text
    from rtsim.models.planar_body import NAME, planar_body
    from rtsim.subjects.calibration.masses import notes_on_size

    if model != NAME:
        raise ConfigError(
            f"{model} is scaled by distances between markers",
            where="--setup",
            remedy="give the setup file of OpenSim's scale tool (--setup)",
        )
    given = {"--sex": sex, "--mass": mass_kg, "--stature": stature_mm}
    if lacking := [option for option, value in given.items() if value is None]:
        raise ConfigError(
            f"{NAME} is made from the sex, mass and stature of a person",
            where=lacking[0],
            remedy="give --sex, --mass and --stature",
        )
    if static is not None:
        raise ConfigError(f"{NAME} does not use markers", where="--static", remedy="leave it out")
    assert sex is not None
    assert mass_kg is not None
    assert stature_mm is not None
    low, high = STATURES_MM
    if not low <= stature_mm <= high:
        raise ConfigError(
            f"{stature_mm:g} mm is not a possible stature",
            where="--stature",
            allowed=f"a stature of {low:g} to {high:g} mm",
        )
    low, high = PER_SQUARE
    if not low <= 1e6 * mass_kg / stature_mm**2 <= high:
        raise ConfigError(
            f"{mass_kg:g} kg at {stature_mm:g} mm cannot belong to one person", where="--mass, --stature",
            allowed=f"a body mass index of {low:g} to {high:g} kg/m²",
        )  # fmt: skip
    for note in notes_on_size(mass_kg, 1e-3 * stature_mm):
        tell(f"{NAME}: {note}")
    return model_text(planar_body(sex, mass_kg, stature_mm), "A planar body: docs/planar_body.md.")


def as_table(scaled: Scaled) -> dict:
    """Return the results of scaling a model (factors, marker distances, masses, marker errors) as a
    dictionary.
    """
    return {
        "factors": {body: S.tolist() for body, S in scaled.factors.items()},
        "measurements": {
            m.name: {
                "factor": m.factor,
                "pairs": [
                    {"markers": [a, b], "model_mm": 1e3 * before, "person_mm": 1e3 * after}
                    for a, b, before, after in m.pairs
                ],
            }
            for m in scaled.measured
        },
        "mass_kg": {body.name: body.mass_kg for body in scaled.spec.bodies},
        "marker_error_mm": {name: 1e3 * error for name, error in scaled.errors.items()},
    }


def as_lines(scaled: Scaled) -> str:
    """Return the results of scaling a model as text for people."""
    lines = []
    for m in scaled.measured:
        for a, b, before, after in m.pairs:
            lines.append(f"{m.name:16s} {a} to {b}: model {1e3 * before:.1f} mm, person {1e3 * after:.1f} mm")
        lines.append(f"{m.name:16s} factor {m.factor:.6f}")
    masses = {body.name: body.mass_kg for body in scaled.spec.bodies}
    for body, S in scaled.factors.items():
        lines.append(f"{body:16s} {S[0]:.4f} {S[1]:.4f} {S[2]:.4f}  {masses[body]:8.3f} kg")
    if scaled.errors:
        errors = list(scaled.errors.values())
        rms = 1e3 * (sum(x * x for x in errors) / len(errors)) ** 0.5
        worst = max(scaled.errors, key=lambda name: scaled.errors[name])
        lines.append(
            "distances between the markers of the model and of the person in the static pose, before those "
            f"of the model were moved to those of the person: RMS {rms:.1f} mm, largest "
            f"{1e3 * scaled.errors[worst]:.1f} mm ({worst})"
        )
    return "\n".join(lines)
