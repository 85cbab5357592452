"""`rtsim fit knee`: identifies the knee as a mechanism, from its motion and from points on its surfaces and
ligaments.
"""

from __future__ import annotations

import math
from pathlib import Path

import click

from rtsim.cli.terminal.lines import json_text, tell
from rtsim.cli.terminal.types import Config
from rtsim.errors import ConfigError
from rtsim.files.output import check_free

MOST_MM, MOST_DEG = 50.0, 45.0


@click.command("knee")
@click.argument("motion", type=click.Path(path_type=Path))
@click.option(
    "--anatomy",
    type=click.Path(path_type=Path),
    help="Measured points of surfaces and attachment areas (.toml); without this file, the geometry of "
    "--model is the initial guess.",
)
@click.option(
    "--model", type=Config("models"), default="lower_limb", show_default=True,
    help="Model whose knee is replaced: a .toml file, or the name of one that comes with rtsim.",
)  # fmt: skip
@click.option("--side", type=click.Choice(["right", "left"]), default="right", show_default=True,
              help="Leg to use, if MOTION contains both legs.")  # fmt: skip
@click.option("--bound-mm", type=float, default=5.0, show_default=True,
              help="How far the fit may change positions of points, radii and lengths [mm].")  # fmt: skip
@click.option("--bound-deg", type=float, default=5.0, show_default=True,
              help="How far the fit may rotate the normals of the tibial plateaus [deg].")  # fmt: skip
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the fitted model (.toml)."
)
@click.option("--force", is_flag=True, help="Replace a file that exists already.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, in metres and radians.")
def command(
    motion: Path,
    anatomy: Path | None,
    model: str,
    side: str,
    bound_mm: float,
    bound_deg: float,
    out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Identify the knee as a mechanism from its unloaded MOTION (Sancisi et al. 2017, section 2.1).

    MOTION is a table (.mot, .sto, .csv) of knee_flexion, knee_adduction, knee_internal_rotation and the
    displacements lateral, anterior, proximal [m], in the format of `rtsim analyse`. Spheres and planes are
    fitted to the points of --anatomy, the most isometric fibres are found in the attachment areas, and all
    parameters are adjusted within bounds so that the mechanism reproduces the motion.
    """
    from rtsim.files.model_toml import model_text
    from rtsim.files.output import write_text
    from rtsim.methods.knee.knee_fit import fit_knee
    from rtsim.methods.knee.knee_geometry import knee_geometry_of, with_knee_geometry
    from rtsim.methods.knee.knee_motion import read_knee_motion, read_knee_points
    from rtsim.models.load import load_model
    from rtsim.report.knee_fit import fit_as_document, fit_as_text

    check_bounds(bound_mm, bound_deg)
    if out is not None:
        if out.suffix.lower() != ".toml":
            raise ConfigError(
                f"{out} cannot be the name of a model file",
                where="--out",
                allowed="a name that ends in .toml",
            )
        check_free(out, overwrite=force)
    elif force:
        raise ConfigError(
            "the option applies only together with --out", where="--force", remedy="leave it out"
        )
    spec = load_model(model)
    start = knee_geometry_of(spec)
    found = read_knee_motion(motion, side)
    for note in found.notes:
        tell(f"{motion}: {note}")
    points = read_knee_points(anatomy) if anatomy is not None else None
    fit = fit_knee(found.poses, points, start, 1e-3 * bound_mm, math.radians(bound_deg), tell)
    click.echo(json_text(fit_as_document(fit)) if as_json else fit_as_text(fit))
    if fit.bounded:
        tell(
            f"these parameters reached a bound: {', '.join(fit.bounded)}; a longer motion or wider "
            "bounds might be needed"
        )
    if out is not None:
        of_points = f" and {anatomy.name}" if anatomy is not None else ""
        source = (
            f"{spec.name} with a knee fitted by rtsim fit knee (Sancisi et al. 2017, section 2.1) "
            f"from {motion.name}{of_points}"
        )
        fitted = with_knee_geometry(spec, fit.geometry, fit.means, fit.polynomials, out.stem, source)
        write_text(out, model_text(fitted))
        click.echo(f"wrote {out}", err=True)


def check_bounds(bound_mm: float, bound_deg: float) -> None:
    """Raise ConfigError for implausible bounds on the adjustment of lengths [mm] and angles [deg]."""
    for option, value, most, unit in (
        ("--bound-mm", bound_mm, MOST_MM, "mm"),
        ("--bound-deg", bound_deg, MOST_DEG, "degrees"),
    ):
        if not 0.0 < value <= most:
            raise ConfigError(
                f"{value:g} {unit}", where=option, allowed=f"a value above 0, up to {most:g} {unit}"
            )
