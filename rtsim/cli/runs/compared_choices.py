"""The command `rtsim analyse --compare`: it solves one recording with each of the alternatives that a run
config offers under a name, such as several knee models, and compares the curves of their results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rtsim.cli.terminal.lines import tell
from rtsim.cli.terminal.options import check_of_use, make_run
from rtsim.config.paths import find_config
from rtsim.config.runs.choices import choices_of
from rtsim.live.processes.signals import Interrupted
from rtsim.report import agreement

if TYPE_CHECKING:
    from rtsim.config.runs.run_schema import RunConfig


def compared(run: RunConfig, options: dict[str, Any], anyway: bool, console: Any) -> dict[str, Any]:
    """Solve a recording once with each of the alternatives (choices) that the config's table `compare` names,
    such as several knee models; return how well the curves of their results agree.

    options : options of the command line, to which the choice of each run is added
    anyway : whether to accept a recording that does not fit the subject
    """
    from rtsim.cli.commands.analyse import INTERRUPTED, N_TOLD, check_usable, solve

    assert run.compare is not None
    name, found = run.compare.choice, {}
    config = find_config(options["config"], "runs")
    given = next((words for words in options["choices"] if words.partition("=")[0] == name), "")
    check_of_use(f"--set {given}", not given, "a run with one choice, and --compare runs all of them")
    for choice in choices_of(config, name):
        tell(f"{name}={choice}")
        solved = solve(
            make_run(**{**options, "choices": (*options["choices"], f"{name}={choice}")}), anyway, console
        )
        if solved.reason == INTERRUPTED:
            raise Interrupted
        for said in solved.sentences[:N_TOLD]:
            tell(said)
        check_usable(solved, f"{run.source}, {name}={choice}")
        found[choice] = solved.results
    return agreement.compare(found, run.compare, str(config))
