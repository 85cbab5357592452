"""A tuning from its first to its last trial: it asks the search for settings, has their costs measured,
passes these to the search, and stores and reports the trials.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError, ModelError
from rtsim.tuning.kept import KeptTuning, TuningTrial
from rtsim.tuning.offline import RunCost
from rtsim.tuning.problem import Parameters, Setting
from rtsim.tuning.search import TuningSearch

Array = NDArray[np.float64]
Measure = Callable[[Sequence[Setting]], Iterable[RunCost]]
SAME = 1e-9
"""Tolerance with which a stored setting must equal the proposed one, relative to the range."""


class Drive:
    """Drives a search for the best setting: asks it for settings, has their costs measured, and stores every
    trial.

    Parameters
    ----------
    search, parameters : the search, and the parameters that the coordinates of its points stand for
    measure : function that measures the costs of settings, in their order
    kept : stored tuning, whose trials the search repeats first without new measurements; each new trial is
        added
    keep : function called with `kept` after each new trial, to store it in a file
    say : function called with a line of text on each new trial
    """

    def __init__(
        self,
        search: TuningSearch,
        parameters: Parameters,
        measure: Measure,
        kept: KeptTuning,
        keep: Callable[[KeptTuning], None] = lambda kept: None,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.search, self.parameters, self.kept = search, parameters, kept
        self._measure, self._keep, self._say = measure, keep, say
        self._known: list[float] = []

    def run(self, budget: int) -> Setting:
        """Try settings until their number, including stored ones, reaches `budget`; return the best
        setting.
        """
        recorded, n_tried = list(self.kept.trials), 0
        self.kept.trials = []
        while n_tried < budget:
            at_once, asked = self.search.at_once, [self.search.ask()]
            while len(asked) < at_once and n_tried + count(asked) < budget:
                asked.append(self.search.ask())
            n_tried += count(asked)
            old = recorded[: len(asked)]
            recorded = recorded[len(asked) :]
            self._check(asked, old)
            new = [self.parameters.setting(point) for points in asked[len(old) :] for point in points]
            costs = iter(self._measure(new)) if new else iter(())
            for k, points in enumerate(asked):
                trial = old[k] if k < len(old) else self._tried(points, costs)
                self._tell(points, trial)
                if k >= len(old):
                    self._keep(self.kept)
                    self._say(self._words(trial))
        return self.kept.best

    def _check(self, asked: Sequence[Array], old: Sequence[TuningTrial]) -> None:
        """Raise ConfigError if the stored trials have other settings than the search proposes.

        asked : proposed settings of each trial, (n_setting, n) in the unit cube; old : the stored trials
        """
        for points, trial in zip(asked, old, strict=False):
            kept = np.array([self.parameters.point(setting) for setting in trial.settings])
            if kept.shape != points.shape or np.abs(kept - points).max() > SAME:
                raise ConfigError(
                    "the trials in the file differ from those that this search proposes", where="--file",
                    remedy="continue with the version of rtsim that began the file, or begin another file",
                )  # fmt: skip

    def _tried(self, points: Array, costs: Iterator[RunCost]) -> TuningTrial:
        """Have the costs of the settings of a trial measured; return the trial.

        points : (n_setting, n) - the settings in the unit cube; costs : measured costs, of which the next
            ones are taken
        """
        found = [next(costs) for _ in points]
        return TuningTrial(
            [self.parameters.setting(point) for point in points],
            [None if math.isnan(cost.value) else cost.value for cost in found],
            "; ".join(cost.why for cost in found if cost.why),
        )

    def _tell(self, points: Array, trial: TuningTrial) -> None:
        """Report the costs of a trial to the search and store the trial. A run without a cost is reported as
        worse than the worst known cost, by the difference between the worst and the best.

        points : (n_setting, n) - settings of the trial in the unit cube
        """
        self._known += [cost for cost in trial.costs if cost is not None]
        if not self._known:
            raise ModelError(
                f"the cost of the first setting could not be computed: {trial.why}",
                where=self.parameters.words(trial.settings[0]),
                remedy="narrow the ranges of tuning.parameters",
            )  # fmt: skip
        least, worst = min(self._known), max(self._known)
        bad = worst + (worst - least if worst > least else 1.0)
        self.search.tell(points, np.array([bad if cost is None else cost for cost in trial.costs]))
        self.kept.trials.append(trial)
        self.kept.best = self.parameters.setting(self.search.best())

    def _words(self, trial: TuningTrial) -> str:
        """Return a line of text on the outcome of a trial, for the progress display."""
        tried = " | ".join(self.parameters.words(setting) for setting in trial.settings)
        costs = " | ".join("none" if cost is None else f"{cost:.4g}" for cost in trial.costs)
        mean, deviation = self.search.landscape(self.search.best()[None, :])
        best = self.parameters.words(self.kept.best)
        why = f" ({trial.why})" if trial.why else ""
        return f"{self.kept.n_tried}: {tried}: {costs}{why}; best {best}: {mean[0]:.4g} +- {deviation[0]:.2g}"


def count(asked: Sequence[Array]) -> int:
    """Return the number of settings in a list of trials, (n_setting, n) each."""
    return sum(len(points) for points in asked)
