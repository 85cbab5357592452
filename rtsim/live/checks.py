"""Checks of a run before anything slow begins, such as compilation, calibration or other processes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.live.forces import check_forces, has_forces
from rtsim.live.inputs.sources import (
    JAW,
    WALKER,
    brings_markers,
    check_corrections,
    check_own_markers,
    check_source,
    check_subject_given,
    subject_of_walker,
)

if TYPE_CHECKING:
    from rtsim.config.models.model_schema import ModelSpec


def check_run(run: RunConfig) -> None:
    """Raise ConfigError for a model, method, source, subject, static trial or marker map that does not fit
    the run.
    """
    from rtsim.files.markers.markers import check_kind
    from rtsim.live.subjects.feet import placed_feet
    from rtsim.methods.kinematics.choice import followed_by, methods_of
    from rtsim.models.load import load_model
    from rtsim.models.roles import check_fits_markers
    from rtsim.stages.building.find import check_named
    from rtsim.stages.building.run_checks import check_run
    from rtsim.subjects.markers.labs import load_lab
    from rtsim.subjects.subject import load_subject

    spec = load_model(run.model)
    methods_of(run, spec)
    check_side(run, spec)
    check_named(run.stages)
    check_source(run.source)
    # a static trial may need what the walker beside it does not
    check_corrections("" if run.static and run.source == WALKER else run.source, run.units, run.up)
    check_forces(run)
    check_measured(run, spec)
    check_run(run, spec, of_model=brings_markers(run, spec), forces=has_forces(run))
    if run.subject:
        load_subject(find_config(run.subject, "subjects"))
    if brings_markers(run, spec):
        check_own_markers(run)
        if run.forces or run.plates.feet or run.plates.borne_by:
            placed_feet(run, spec)
        followed_by(run, spec)
        check_fits_markers(spec)
    else:
        check_person(run, spec)
    if run.static and not Path(run.static).is_file():
        raise ConfigError(f"there is no file {run.static!r}", where="--static")
    if run.static:
        check_kind(run.static)
    if run.lab:
        load_lab(run.lab)


def check_person(run: RunConfig, spec: ModelSpec) -> None:
    """Raise ConfigError for settings that do not fit a run with a person's markers, and if the person is not
    given.
    """
    from rtsim.live.subjects.feet import placed_feet

    if run.ik_setup:
        raise ConfigError(
            "an inverse-kinematics setup file applies only to a model that defines its own markers",
            where="--ik-setup",
            remedy="give such a --model without --subject and --static, or leave --ik-setup out",
        )  # fmt: skip
    placed_feet(run, spec)
    if run.source == WALKER and not run.subject:
        subject_of_walker(run)
    check_subject_given(run)
    if run.source.startswith(JAW):
        raise ConfigError(
            "the synthetic jaw has the markers of a mandible, not those of a person's legs",
            where=f"--source {run.source}", remedy="add --run mandible, or --model mandible",
        )  # fmt: skip


def check_measured(run: RunConfig, spec: ModelSpec) -> None:
    """Raise ConfigError if a person is given together with a model that brings its own markers."""
    if spec.markers and not spec.of_subject and (run.subject or run.static):
        raise ConfigError(
            f"the model {spec.name} defines its own markers, so no person is calibrated",
            where="--subject" if run.subject else "--static",
            remedy="remove the option; `rtsim scale` scales a model to the size of a person",
        )


def check_side(run: RunConfig, spec: ModelSpec) -> None:
    """Raise ConfigError if one leg is requested of a model with both legs, or both of a model with one
    leg.
    """
    from rtsim.models.load import ONE_LEG

    one_leg = spec.of_subject and not spec.has_both_sides and run.model != ONE_LEG  # which becomes two
    if one_leg and run.side == "both":
        raise ConfigError(
            f"the model {spec.name} has one leg, but both legs are requested",
            where="--side",
            allowed="right, left",
            remedy="give one side, or a --model of both legs",
        )
    if spec.has_both_sides and run.side in ("right", "left"):
        raise ConfigError(
            f"the model {spec.name} has both legs, but only the {run.side} leg is requested",
            where="--side",
            allowed="both",
            remedy="remove the option, or give a --model of one leg",
        )
