"""Check that the running model is the one of the config by whose ranges and cost function it is tuned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rtsim.config.runs.hil_schema import HilSpec
from rtsim.errors import ConfigError
from rtsim.live.hardware.device_replay import flat
from rtsim.tuning.costs import places_of
from rtsim.tuning.problem import tuning_of
from streams.account import plain
from streams.messages import Session

OF_OPTIONS = ("exchange.mode", "exchange.rate_hz", "motion", "prescribed")
"""Settings that options of `rtsim hil` replace, so that the run may have others than its config."""
NEEDED = ("device_arming", "device_parameters")
"""Fields from which a search reads whether a setting acts."""
SHOWN = 80
NOTHING = "nothing"


def check_same_run(spec: HilSpec, session: Session, address: str) -> list[str]:
    """Check that results are those of a run of this config, with all fields that its costs need, and return
    notes on settings which options of the run have replaced.

    session : descriptor of the results; address : where they come from, for errors

    ConfigError if the run is none with a device, has another config, the same one with other settings, or
    lacks a field.
    """
    device = session.meta.get("device")
    settings = device.get("settings") if isinstance(device, Mapping) else None
    if not isinstance(settings, Mapping):
        raise ConfigError(
            "these results do not state the settings of a run with a device", where=address,
            remedy="give with --results the address of the results of `rtsim hil`",
        )  # fmt: skip
    was, now, notes = flat(settings), flat(spec.settings), []
    for key in sorted({*was, *now}, key=lambda key: (key != "name", key)):
        if was.get(key) == now.get(key):
            continue
        said = f"{plain(key, SHOWN)} = {_shown(was.get(key))}"
        if key not in OF_OPTIONS:
            raise ConfigError(
                f"the running model has {said}, but the config {spec.name} has {_shown(now.get(key))}",
                where=address, remedy="give the config with which `rtsim hil` was started",
            )  # fmt: skip
        notes.append(f"the run was started with {said} in place of {_shown(now.get(key))} of the config")
    names = {field.name for field in session.fields}
    if missing := [name for name in NEEDED if name not in names]:
        raise ConfigError(f"these results have no field {missing[0]!r}", where=address)
    places_of(tuning_of(spec), session.fields)
    return notes


def _shown(value: Any) -> str:
    return plain(NOTHING if value in (None, "", [], ()) else str(value), SHOWN)
