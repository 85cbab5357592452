"""Options of `rtsim tune --auto` and `--validate`, and which of them go together."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from rtsim.config.runs.hil_schema import HilSpec
from rtsim.device.tuning import LONGEST_RAMP_S
from rtsim.errors import ConfigError
from rtsim.files.output import check_folder
from rtsim.tuning.offline import check_own_motion
from rtsim.tuning.problem import Parameters


class Asking(NamedTuple):
    """Options of `rtsim tune` for a search or a validation.

    method : name of the search, "" = validation
    offline : whether cost is measured in simulations, not in the running model
    operator : whether a person types the costs
    budget : number of settings to be tried
    file : file in which trials are stored, None = none
    blocks : number of blocks of a validation
    """

    method: str
    offline: bool
    operator: bool
    budget: int
    seed: int
    file: Path | None
    blocks: int


def check(
    asking: Asking, options: dict[str, Any], over_s: float | None, spec: HilSpec, parameters: Parameters
) -> None:
    """Raise ConfigError, before any slow work, for options of a search or validation that cannot be
    combined.
    """
    wrong = {
        "--operator": (asking.operator and (asking.offline or not asking.method),
                       "an operator can judge runs with the device only, not simulations (--offline) or the "
                       "numbers of --validate"),
        "--auto dial": (asking.method == "dial" and asking.offline, "with dial an operator sets the "
                                                                    "parameters by hand on the running "
                                                                    "device, which --offline (simulation "
                                                                    "alone) does not have"),
        "--processes, --together": ((options["processes"] or options["together"]) and not asking.offline,
                                    "only with --offline can several settings be tried at the same time"),
        "--blocks": (options["blocks"] and asking.method, "the option applies only to --validate"),
        "--budget": (options["budget"] and not asking.method, "the option applies only to --auto"),
        "--plot": (options["plot"] and (not asking.method or len(parameters.names) < 2),
                   "the figure shows the cost over two parameters and needs --auto"),
        "--file": (not asking.method and (asking.file is None or not asking.file.exists()),
                   f"there is no file {asking.file}; --validate needs the result file of a tuning search "
                   "(--auto)" if asking.file
                   else "--validate needs --file, the result file of a tuning search (--auto)"),
        "--over": (over_s is not None and (asking.offline or not 0.0 <= over_s <= LONGEST_RAMP_S),
                   "the option applies only to a running model, not to --offline" if asking.offline
                   else f"parameters of a running model can change over 0 to {LONGEST_RAMP_S:g} s"),
    }  # fmt: skip
    for where, (bad, why) in wrong.items():
        if bad:
            raise ConfigError(why, where=where, remedy="give other options")
    if asking.file is not None:
        check_folder(asking.file, "--file")
    if asking.offline:
        check_own_motion(spec)
