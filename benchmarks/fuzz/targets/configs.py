"""Targets for configs of every schema, as in `rtsim check`, and for plans of studies."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks.fuzz.target import FuzzTarget, require
from benchmarks.fuzz.targets.opensim import feed_check
from rtsim.config.load import read_toml
from rtsim.config.paths import configs_root
from rtsim.files.model_toml import model_text
from rtsim.models.generator_sets import generators_of
from rtsim.models.load import load_model
from rtsim.studies.plan import read_plan

MEASURES = b"""knee_width_mm = [100.0, 101.5]
ankle_width_mm = 72.0
inter_asis_mm = 240.0
tibial_torsion_deg = -10.0
marker_diameter_mm = 14.0
"""
STUDY = b"""name = "pins"
seed = 3
[simulate]
model = "pin"
rows = 50
[design]
kind = "grid"
[[parameters]]
name = "gravity"
key = "model.gravity_m_s2.1"
values = [-9.0, -9.8]
[[results]]
name = "last"
column = "coordinates.pin"
take = "last"
[curves]
columns = ["coordinates.pin"]
points = 11
"""
SAMPLED = STUDY.replace(b'"grid"', b'"sobol"\nn = 8').replace(
    b"values = [-9.0, -9.8]", b"range = [-10.0, -9.0]"
)
LONGEST = 1 << 15


def config_seeds(folder: str) -> list[bytes]:
    """Return the shipped configs of a kind."""
    found = sorted(configs_root().glob(f"{folder}/*.toml"), key=lambda path: path.stat().st_size)
    return [path.read_bytes() for path in found if path.stat().st_size < LONGEST]


def feed_kind(folder: str, path: Path) -> None:
    """Check a config in a folder of its kind's name, by which a kind without keys of its own is known."""
    place = path.parent / folder / path.name
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(path.read_bytes())
    generators_of.cache_clear()  # kept by path, which is the same for every input
    feed_check(place)


def feed_model(path: Path) -> None:
    """Check that a valid model is written and read again identically."""
    feed_kind("models", path)
    if "adds_to" in read_toml(path) or "both_sides_of" in read_toml(path):
        return
    spec = load_model(str(path))
    again = path.with_name("again.toml")
    again.write_text(model_text(spec), encoding="utf-8")
    require(load_model(str(again)) == spec, "a model changes when it is written and read")


def feed_study(path: Path) -> None:
    plan = read_plan(path)
    require(len(plan.cases) > 0, "a study without a case")


def config_target(folder: str, seconds: float = 10.0) -> FuzzTarget:
    """The target of a kind of configs."""
    return FuzzTarget(
        f"{folder}_toml", partial(feed_kind, folder), partial(config_seeds, folder), form="toml",
        suffix=".toml",
        seconds=seconds, megabytes=512.0, longest=LONGEST,
    )  # fmt: skip


TARGETS = (
    *(
        config_target(folder)
        for folder in ("labs", "inertia", "devices", "generators", "subjects", "runs", "hil")
    ),
    config_target("models", 20.0)._replace(feed=feed_model, weight=2.0),
    FuzzTarget("measures_toml", feed_check, lambda: [MEASURES], form="toml", suffix=".toml", weight=0.5),
    FuzzTarget(
        "study_toml",
        feed_study,
        lambda: [STUDY, SAMPLED],
        form="toml",
        suffix=".toml",
        seconds=10.0,
        megabytes=512.0,
    ),
)
