"""What can be told about a run before anything slow begins: compilation, calibration, other processes."""

from __future__ import annotations

from pathlib import Path

from rtsim.config.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.config.run_schema import USUAL_METHODS, Run
from rtsim.errors import ConfigError
from rtsim.live.sources import WALKER, check_corrections, check_source, check_subject_given


def check_run(run: Run) -> None:
    """ConfigError for a model, method, source, subject, static trial or lab that the run cannot have."""
    from rtsim.files.markers import check_kind
    from rtsim.models.load import load_model
    from rtsim.subjects.labs import load_lab
    from rtsim.subjects.subject import load_subject

    methods_of(run, load_model(run.model))
    check_source(run.source)
    # a static trial may need what the walker beside it does not
    check_corrections("" if run.static and run.source == WALKER else run.source, run.units, run.up)
    if run.subject:
        load_subject(find_config(run.subject, "subjects"))
    check_subject_given(run)
    if run.static and not Path(run.static).is_file():
        raise ConfigError(f"there is no file {run.static!r}", where="--static")
    if run.static:
        check_kind(run.static)
    if run.lab:
        load_lab(run.lab)


def methods_of(run: Run, spec: ModelSpec) -> tuple[str, ...]:
    """The methods that the run can switch to; ConfigError for one that the model does not have."""
    methods = run.methods or tuple(method for method in USUAL_METHODS if method in spec.methods)
    unknown = [method for method in (run.method, *methods) if method not in spec.methods]
    if unknown:
        raise ConfigError(
            f"unknown method {unknown[0]!r}",
            where="--method",
            allowed=", ".join(spec.methods),
            remedy=f"give one of the model {spec.name}",
        )
    return methods
