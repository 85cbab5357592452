"""What the config of a run with a device describes: the simulated limb, its model, and the device."""

from __future__ import annotations

import math

from msgspec.structs import replace

from rtsim.config.load import load_toml
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.config.runs.device_schema import DeviceSpec, Mechanics
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.device.controller import law_of
from rtsim.device.limits import check_fit
from rtsim.device.stability import check_stable
from rtsim.errors import ConfigError
from rtsim.models.load import Note, load_model
from rtsim.models.model import build
from rtsim.simulation.load import check_mass, check_settings, check_spec
from rtsim.simulation.motion import awaiting, check_motion, with_motion, with_prescribed, within
from rtsim.simulation.simulator import Simulator
from rtsim.stages.device.device_element import with_device
from rtsim.stages.device.misaligned import joint_of, with_straps
from streams.addresses import is_stream

WHOLE = 1e-9
"""Tolerance, relative to a step, with which the number of steps in a tick is a whole number."""


def simulator_for(spec: HilSpec) -> Simulator:
    """Return the simulator of the limb that a config describes, in its initial state; ConfigError for
    contradictory or unstable settings.
    """
    model, _ = parts_of(spec)
    tick_ms = 1e3 / spec.exchange.rate_hz
    step_ms = tick_ms / math.ceil(tick_ms / model.simulation.step_ms - WHOLE)
    built = build(model)
    check_settings(model, built)
    check_mass(model, built)
    return Simulator(built, replace(model.simulation, step_ms=step_ms))


def moved(spec: HilSpec, note: Note = lambda text: None) -> tuple[HilSpec, ModelSpec]:
    """Return the config and its model, in which the motion that the config names prescribes coordinates.

    If it names a motion file, the duration of the run is limited to that of the motion. If it names a stream,
    the coordinates are prescribed by its frames during the run.

    note : function called with notes on irregularities of the motion file
    """
    model = with_prescribed(load_model(spec.model), spec.prescribed)
    check_motion(model, spec.motion)
    if is_stream(spec.motion):
        return spec, awaiting(model)
    if not spec.motion:
        return spec, model
    model, length = with_motion(model, spec.motion, note)
    return replace(spec, duration_s=within(length, spec.duration_s or None, spec.motion)), model


def parts_of(spec: HilSpec) -> tuple[ModelSpec, DeviceSpec]:
    """Return the model, with a force element for the device, and the device's config, both checked."""
    device = load_toml(find_config(spec.device, "devices"), DeviceSpec)
    check_fit(spec, device)
    _, model = moved(spec)
    given = [coupler.coordinate for coupler in model.couplers]
    names = [c.name for body in model.bodies for c in body.coordinates if c.name not in given]
    if spec.coordinate not in names:
        raise ConfigError(
            f"model {spec.model} has no coordinate {spec.coordinate!r} that forces can move",
            where=f"{spec.name}: coordinate", allowed=", ".join(names) or "none",
        )  # fmt: skip
    if spec.gait is not None and spec.gait.coordinate not in (*names, *given):
        raise ConfigError(
            f"model {spec.model} has no coordinate {spec.gait.coordinate!r}",
            where=f"{spec.name}: gait.coordinate", allowed=", ".join((*names, *given)),
        )  # fmt: skip
    law_of(spec.controller)
    check_spec(model, None, {})
    springs = [spring for spring in model.springs if spring.coordinate == spec.coordinate]
    damping = sum(spring.damping or 0.0 for spring in springs)
    check_stable(spec, device, damping, joint_of(model, spec))
    return with_device(with_straps(model, spec), spec.coordinate), device


def mechanics_of(spec: HilSpec) -> Mechanics:
    """Return the passive mechanics (spring, damper, friction) of the device that a config names, from the
    device's own config file.
    """
    return load_toml(find_config(spec.device, "devices"), DeviceSpec).mechanics


def of_another_joint(spec: HilSpec, device: DeviceSpec) -> str:
    """Return a note if the device is made for another joint than the one on which it acts; else ""."""
    if device.joint in spec.coordinate or spec.coordinate in device.joint or device.joint in spec.model:
        return ""
    return f"{device.name} is for the joint {device.joint!r}, but acts on {spec.coordinate} of {spec.model}"
