"""Carries out `rtsim tune --auto` and `--validate`: a search for the controller parameters with the lowest
cost, and a comparison of the setting found; and what these commands print.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from rtsim.cli.runs.tune_options import Asking, check
from rtsim.cli.runs.tune_settings import check_settings, settings_of
from rtsim.cli.terminal.compiling import compile_first
from rtsim.cli.terminal.console import LastingConsole
from rtsim.cli.terminal.lines import tell
from rtsim.cli.terminal.plotting import paper_for
from rtsim.cli.terminal.ports import placed
from rtsim.cli.terminal.security import connect_security
from rtsim.cli.terminal.types import NumberWithin
from rtsim.config.load import check_record, load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.config.runs.tuning_schema import CostTerm
from rtsim.errors import ConfigError
from rtsim.live.compiled.group_table import groups_of_limb
from rtsim.live.hardware.device_loop import fields_of
from rtsim.live.hardware.limb_parts import parts_of
from rtsim.live.processes.signals import exit_code
from rtsim.tuning.bayesian import Bayesian
from rtsim.tuning.cma import Cma
from rtsim.tuning.costs import find, places_of
from rtsim.tuning.dial import Dial
from rtsim.tuning.drive import Drive
from rtsim.tuning.kept import KeptTuning, read_kept, write_kept
from rtsim.tuning.live import LiveRuns
from rtsim.tuning.offline import Pool, RunCost, RunRequest
from rtsim.tuning.preference import Preference
from rtsim.tuning.problem import Parameters, Setting, parameters_of, tuning_of
from rtsim.tuning.search import TuningSearch
from rtsim.tuning.validation import CONDITIONS, TUNED, ZERO, effects, order
from streams.messages import FieldSpec

N_BLOCK, TOGETHER = 6, 2
Pair = tuple[Any, Any]


def search(
    config: str, method: str, over_s: float | None, control: Pair, keys: Pair, options: dict[str, Any]
) -> None:
    """Search for the best setting of the tuned parameters, or validate a found one if no method is given.

    over_s : how long each change of parameters takes in the running model [s], None = as configured
    control : address and port offset of the running model
    keys : files of the client's key and of the server's public key
    options : further options of the command line
    """
    spec = load_toml(find_config(config, "hil"), HilSpec)
    parts_of(spec)
    fields = fields_of(spec)
    spec = with_costs(spec, options["costs"], fields)
    parameters = parameters_of(spec)
    places_of(tuning_of(spec), fields)
    budget = options["budget"] or tuning_of(spec).budget
    asking = Asking(
        method=method, offline=options["offline"], operator=options["operator"], budget=budget,
        seed=options["seed"] or 0, file=options["file"],
        blocks=options["blocks"] or N_BLOCK,
    )  # fmt: skip
    check(asking, options, over_s, spec, parameters)
    together = (options["together"] or TOGETHER) if asking.offline else 1
    kept = begun(spec, parameters, asking, together) if method else to_validate(spec, parameters, asking)
    paper = paper_for(options["plot"], options["plot_size"], options["plot_dpi"])
    with contextlib.ExitStack() as stack:
        if asking.offline:
            measure = offline(spec, asking.seed, options["processes"], stack)
            live = None
        else:
            usual = {"--control": spec.ports.control, "--results": spec.ports.results}
            given = {"--control": control[0], "--results": options["results"]}
            addresses = placed(given, usual, control[1])
            over = spec.controller.change_s if over_s is None else over_s
            security = connect_security(*keys)
            live = stack.enter_context(
                LiveRuns(spec, addresses["--results"], addresses["--control"], over, security)
            )
            for words in live.notes:
                tell(f"note: {words}")
            measure = alive(live)
        if not method:
            validated(spec, parameters, measure, asking, kept)
            return
        searched(parameters, measure, asking, kept, live, paper)


Measured = Callable[[Sequence[Setting | None], int], Iterator[RunCost]]
"""Function that yields the cost of each setting (None = zero torque); the int is the seed of random noise."""


def offline(spec: HilSpec, seed: int, processes: int | None, stack: contextlib.ExitStack) -> Measured:
    """Return a function that measures the cost of parameter settings in simulations, as the mean of repeats.

    processes : number of simulations at the same time, None = number of processors
    stack : ends these processes
    """
    for group in groups_of_limb(parts_of(spec)[0]):
        compile_first(LastingConsole(stderr=True), (group,))
    n_repeat = tuning_of(spec).repeats
    pool = stack.enter_context(Pool(spec, seed, processes or os.cpu_count() or 1))

    def measure(settings: Sequence[Setting | None], noise: int) -> Iterator[RunCost]:
        asked = [RunRequest(setting, noise * n_repeat + k) for setting in settings for k in range(n_repeat)]
        costs = pool.costs(asked)
        for _ in settings:
            found = [next(costs) for _ in range(n_repeat)]
            why = next((cost.why for cost in found if cost.why), "")
            yield RunCost(float(np.mean([cost.value for cost in found])), why)

    return measure


def alive(live: LiveRuns) -> Measured:
    """Return a function that measures the cost of parameter settings in the running model by commands
    to it.
    """

    def measure(settings: Sequence[Setting | None], noise: int) -> Iterator[RunCost]:
        return (live.cost(setting) for setting in settings)

    return measure


def with_costs(spec: HilSpec, costs: tuple[str, ...], fields: Sequence[FieldSpec]) -> HilSpec:
    """Return the config with the costs of the command line added to its cost function; ConfigError for a
    field that results do not have.
    """
    if not costs:
        return spec
    terms = []
    for text in costs:
        channel, _, reduction = text.partition(":")
        field, _, label = channel.partition(".")
        label, _, part = label.partition(".")
        term = {"field": field, "label": label, "part": part, "reduction": reduction or "rms"}
        terms.append(check_record(term, CostTerm, f"--cost {text}"))
        find(terms[-1], fields, f"--cost {text}")
    return replace(spec, tuning=replace(tuning_of(spec), costs=tuple(terms)))


def cost_in_words(spec: HilSpec) -> str:
    """Return the cost function of a search for controller parameters as one line of text."""
    terms = []
    for term in tuning_of(spec).costs:
        name = ".".join(filter(None, (term.field, term.label, term.part)))
        weight = "" if term.weight == 1.0 else f"{term.weight:g} "
        terms.append(f"{weight}{term.reduction}({name})")
    return " + ".join(terms)


def searched(
    parameters: Parameters, measure: Measured, asking: Asking, kept: KeptTuning, live: LiveRuns | None,
    paper: Any,
) -> None:  # fmt: skip
    """Search for the parameters with the lowest cost, store every trial, and report the best setting. A
    running model is set to it and stores it as its snapshot `best`.

    measure : function that yields the costs of settings
    kept : the search so far, as of `begun`
    live : the running model, None = the search is in simulations
    paper : output file of a figure, None = none
    """
    method = searches(parameters, asking, kept)

    def costs(settings: Sequence[Setting]) -> Iterator[RunCost]:
        if not asking.operator:
            return measure(settings, 0)
        return judged(settings, measure, parameters, asking.method == "preference")

    def keep(now: KeptTuning) -> None:
        if asking.file is not None:
            write_kept(asking.file, now)

    drive = Drive(search=method, parameters=parameters, measure=costs, kept=kept, keep=keep, say=tell)
    try:
        drive.run(asking.budget)
    except (KeyboardInterrupt, EOFError, click.Abort):
        tell("interrupted" + ("" if live is None else ": the parameters return to their former values"))
    if not kept.trials:
        raise SystemExit(exit_code() or 130)
    if live is not None:
        live.mark_best(kept.best)
    mean, deviation = method.landscape(parameters.point(kept.best)[None, :])
    tell(
        f"best of {kept.n_tried} settings: {parameters.words(kept.best)}; expected "
        f"{'negative utility' if asking.method == 'preference' else 'cost'} "
        f"{mean[0]:.4g}, standard deviation {deviation[0]:.2g}"
        + ("; `rtsim tune --switch best` sets these values" if live is not None else ""), err=False,
    )  # fmt: skip
    if paper is not None:
        from rtsim.monitor.figures.landscape import save_landscape
        from rtsim.tuning.landscape import landscape_of

        save_landscape(paper, landscape_of(method, parameters, kept))
        tell(f"wrote {paper.path}")
    if exit_code():
        raise SystemExit(exit_code())


def begun(spec: HilSpec, parameters: Parameters, asking: Asking, together: int) -> KeptTuning:
    """Return the unfinished search stored in the file of the options, or a new one; ConfigError if the file
    contains a search with other options.

    together : number of settings tried at the same time
    """
    ranges = {
        name: [float(low), float(high)]
        for name, low, high in zip(parameters.names, parameters.low, parameters.high, strict=True)
    }
    cost = "typed by the operator" if asking.operator else cost_in_words(spec)
    new = KeptTuning(
        config=spec.name,
        method=asking.method,
        seed=asking.seed,
        parameters=ranges,
        cost=cost,
        together=together,
        settings=settings_of(spec, parameters.names, asking),
    )
    if asking.file is None or not asking.file.exists():
        return new
    kept = read_kept(asking.file)
    for key in ("config", "method", "seed", "parameters", "cost", "together"):
        if getattr(kept, key) != getattr(new, key):
            raise ConfigError(
                f"the search in the file has {key} = {getattr(kept, key)!r}, but the options have "
                f"{getattr(new, key)!r}",
                where=str(asking.file),
                remedy="give the same options, or the name of a new file",
            )  # fmt: skip
    check_settings(kept.settings, new.settings, str(asking.file))
    tell(f"continuing after {kept.n_tried} settings of {asking.file}")
    return kept


def searches(parameters: Parameters, asking: Asking, kept: KeptTuning) -> TuningSearch:
    """Return the search object of the method chosen by the user; kept : the search so far, as of `begun`."""
    n = len(parameters.names)
    if asking.method == "bayesian":
        return Bayesian(n, asking.seed, kept.together)
    if asking.method == "cma":
        return Cma(n, asking.seed)
    if asking.method == "preference":
        return Preference(n, asking.seed)
    known = [parameters.point(setting) for trial in kept.trials for setting in trial.settings]
    return Dial(lambda: turned(parameters), known)


def turned(parameters: Parameters) -> NDArray[np.float64]:
    """Ask the operator for a value of each controller parameter; return the point (n,) of that setting, each
    value as a fraction of its range.
    """
    ends = zip(parameters.names, parameters.low, parameters.high, strict=True)
    values = {
        name: click.prompt(f"{name} ({low:g} to {high:g})", type=NumberWithin(low, high), err=True)
        for name, low, high in ends
    }
    return parameters.point(values)


def judged(
    settings: Sequence[Setting], measure: Measured, parameters: Parameters, pairwise: bool
) -> Iterator[RunCost]:
    """Let each parameter setting run, and yield the cost that the operator types after it. With `pairwise`,
    the operator says which of two settings was better; its cost is 0 and that of the other 1.
    """
    for k, setting in enumerate(settings):
        name = "AB"[k % 2] if pairwise else ""
        tell(f"running with setting {name + ': ' if name else ''}{parameters.words(setting)}")
        next(measure([setting], 0))
        if not pairwise:
            yield RunCost(click.prompt("cost of this setting", type=float, err=True))
        elif name == "B":
            better = click.prompt("better setting", type=click.Choice(["A", "B", "="]), err=True)
            yield from {"A": (RunCost(0.0), RunCost(1.0)), "B": (RunCost(1.0), RunCost(0.0))}.get(
                better, (RunCost(0.0),) * 2
            )


def to_validate(spec: HilSpec, parameters: Parameters, asking: Asking) -> KeptTuning:
    """Return the search stored in the file of the options; ConfigError if it is of another config or of other
    parameters, or if the best setting is outside the ranges of the controller.
    """
    assert asking.file is not None
    kept = read_kept(asking.file)
    if kept.config != spec.name:
        raise ConfigError(
            f"the best setting in the file was found with the config {kept.config}, and this is {spec.name}",
            where=str(asking.file),
            remedy="give the config that it was tuned with",
        )
    if set(kept.best) != set(parameters.names):
        raise ConfigError(
            f"the best setting in the file has the parameters {', '.join(kept.best) or 'nothing'}",
            where=str(asking.file),
            allowed=", ".join(parameters.names), remedy="give the config that it was tuned with",
        )  # fmt: skip
    for name, value in kept.best.items():
        low, high = spec.controller.ranges[name]
        if not low <= value <= high:
            raise ConfigError(
                f"the best setting in the file has {name} = {value:g}", where=str(asking.file),
                allowed=f"{low:g} to {high:g}, the range in controller.ranges of {spec.name}",
                remedy="widen the range, or search again",
            )  # fmt: skip
    return kept


def validated(
    spec: HilSpec, parameters: Parameters, measure: Measured, asking: Asking, kept: KeptTuning
) -> None:
    """Compare three settings: zero torque, the default, and the best one of a search. They are tried in
    blocks, each in a random order; the effects are printed with their confidence intervals.

    kept : the search, as of `to_validate`
    """
    default = {name: spec.controller.values[name] for name in parameters.names}
    settings = dict(zip(CONDITIONS, (default, dict(kept.best), None), strict=True))
    assert settings[ZERO] is None
    tell(f"default setting: {parameters.words(default)}; {TUNED} setting: {parameters.words(kept.best)}")
    blocks, rows = order(asking.blocks, asking.seed), []
    for b, block in enumerate(blocks):
        row = []
        for k, name in enumerate(block):
            cost = next(measure([settings[name]], 2 * b + k // len(CONDITIONS)))
            if cost.why:
                raise ConfigError(f"{name} has no cost: {cost.why}", where="--validate")
            row.append(cost.value)
        rows.append(row)
        tell(
            f"block {b + 1} of {len(blocks)}: "
            + ", ".join(f"{n} {c:.4g}" for n, c in zip(block, row, strict=True))
        )
    for effect in effects(blocks, rows):
        tell(effect.words, err=False)
