"""A stage of another package in a run: its errors are counted and reported, and the run continues.

The results of the run's own stages do not depend on it, and its errors must not destroy them. After an error
the quantities of the package's stage are NaN in that frame, and the frame is flagged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rtsim.errors import ConfigError, RtsimError
from rtsim.quantity import Fields, Quantity
from rtsim.stages.stage import Args, Stage, StageCommand, StageOutcome
from streams.clock import now_ns
from streams.codec import encode
from streams.messages import Session, Status
from streams.receiving.ring import ReceivedFrame

if TYPE_CHECKING:
    from rtsim.stages.building.context import StageContext
    from rtsim.stages.building.declaration import StageDeclaration

FAILED, SLOW = "stage_failed", "stage_slow"
SLOW_NS = 100_000_000
"""A stage that takes longer than this for a frame is reported [ns]."""
FAULTS = (Exception, SystemExit)
"""Exceptions of a package that are caught: also SystemExit, so that no package ends a run by `sys.exit`."""
Answer = TypeVar("Answer")


class PackageStage(Stage):
    """A stage of another package, whose errors do not end the run.

    It is not called again between frames to keep the processor's caches warm (`Stage.rehearses`), as it may
    have side effects.

    Parameters
    ----------
    name : name of its entry point
    stage : the stage built by its package
    """

    def __init__(self, name: str, stage: Stage) -> None:
        super().__init__()
        self.name, self.stage = name, stage
        self._arrays: list[np.ndarray] = []
        self._left_out = False  # of this session
        self._of_package: Counter[str] = Counter()
        self.orders = {order: self._guarded(order, known) for order, known in stage.orders.items()}

    def warm(self) -> None:
        """Let the package's stage compile its code and call it once before the run. ConfigError if that
        fails, as a run that has not begun can still be refused.
        """
        try:
            self.stage.warm()
        except FAULTS as fault:
            raise ConfigError(
                f"the stage {self.name!r} of another package fails before the run ({describe(fault)})",
                where="stages", remedy="correct the package, or leave the stage out",
            ) from fault  # fmt: skip

    def reset(self) -> None:
        super().reset()
        self._ask(self.stage.reset, None)

    def begin(self, session: Session, anew: bool) -> None:
        def fails() -> bool:
            self.stage.begin(session, anew)
            return False

        self._left_out = self._ask(fails, True)

    def follow(self, other: Stage) -> bool:
        return isinstance(other, PackageStage) and self._ask(lambda: self.stage.follow(other.stage), False)

    @property
    def outdated(self) -> bool:
        return not self._left_out and bool(self._ask(lambda: self.stage.outdated, False))

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        self.n_frame += 1
        if self._left_out:
            self.count(FAILED, self._sentence("the stage could not begin"))
            return StageOutcome(status=Status.DEGRADED)
        began_ns = now_ns()
        try:
            outcome = self.stage.run(frame)
        except FAULTS as fault:
            return self._failed(describe(fault))
        if not isinstance(outcome, StageOutcome):
            return self._failed(f"the stage returned {type(outcome).__name__}, not a StageOutcome")
        taken_ns = now_ns() - began_ns
        if taken_ns > SLOW_NS:
            self.count(
                SLOW, f"The stage {self.name!r} of another package took {1e-9 * taken_ns:.1f} s for a frame."
            )
        return outcome

    def report(self) -> None:
        if not self._left_out:
            self._ask(self.stage.report, None, self._clear)

    def quantities(self) -> list[Quantity]:
        """Return the quantities of the stage; an empty list if they cannot be read, are not arrays of
        float64, or cannot be described to receivers."""
        nothing: list[Quantity] = []
        found = nothing if self._left_out else self._ask(lambda: list(self.stage.quantities()), nothing)
        why = objection(found)
        if why:
            self.count(FAILED, self._sentence(f"{why}; all quantities of this stage are left out"))
            found = nothing
        self._arrays = [array for quantity in found for _, array in quantity.fields()]
        return found

    def meta(self) -> dict[str, Any]:
        """Return the metadata of the stage; empty if they cannot be stored in the descriptor (first message)
        of the result stream."""

        def meta() -> dict[str, Any]:
            found = dict(self.stage.meta())
            check_description([], found)
            if not isinstance(found.get("notes", []), list):
                raise TypeError("the metadata `notes` are not a list of texts")
            return found

        return {} if self._left_out else self._ask(meta, {})

    def leave_out(self, why: str) -> None:
        """Publish no quantities and metadata of the stage in this session, and report `why`, in words."""
        self.count(FAILED, self._sentence(f"{why}; its quantities and metadata are left out"))
        self._arrays = []

    def gauges(self) -> dict[str, float]:
        nothing: dict[str, float] = {}
        return self._ask(
            lambda: {str(name): float(value) for name, value in self.stage.gauges().items()}, nothing
        )

    def status_text(self) -> str:
        return str(self._ask(self.stage.status_text, ""))

    def collect(self) -> tuple[Counter[str], list[str]]:
        """Return the counters and messages of the stage, with those on exceptions that it raised."""

        def collected() -> tuple[Counter[str], list[str]]:
            counters, sentences = self.stage.collect()
            return Counter({str(name): int(n) for name, n in counters.items()}), list(map(str, sentences))

        nothing: list[str] = []
        self._of_package, said = self._ask(collected, (self._of_package, nothing))
        counters, of_guard = super().collect()
        return self._of_package + counters, [*said, *of_guard]

    def _guarded(self, name: str, order: StageCommand) -> StageCommand:
        failed = f"The command {name} has failed in the stage {self.name!r} of another package"

        def answer(args: Args) -> tuple[bool, str]:
            return self._ask(lambda: order.answer(args), (False, f"{failed}."))

        def apply(args: Args) -> bool:
            return bool(self._ask(lambda: order.apply(args), False))

        return order._replace(answer=answer, apply=apply)

    def _ask(
        self, ask: Callable[[], Answer], instead: Answer, after: Callable[[], None] | None = None
    ) -> Answer:
        """Call a function of the package, `ask`, and return its result; if it raises an exception, count it,
        call `after` if it is given, and return `instead`.
        """
        try:
            return ask()
        except FAULTS as fault:
            self.count(FAILED, self._sentence(describe(fault)))
            if after is not None:
                after()
            return instead

    def _failed(self, why: str) -> StageOutcome:
        """Return the outcome of a frame for which the stage has no results; why : the reason, in words"""
        self.count(FAILED, self._sentence(why))
        self._clear()
        return StageOutcome(status=Status.DEGRADED)

    def _clear(self) -> None:
        for array in self._arrays:
            array[...] = np.nan

    def _sentence(self, why: str) -> str:
        named = f"The stage {self.name!r} of another package has failed ({why})"
        return f"{named}: the values of this stage are missing; the run continues."


def made_by_package(name: str, declared: StageDeclaration, setting: StageContext) -> Stage | None:
    """Build a stage that another package provides; None where it has nothing to do in this run, ConfigError
    where it fails or builds something that is not a stage.
    """
    try:
        made = declared.make(setting)
    except RtsimError:
        raise
    except FAULTS as fault:
        raise ConfigError(
            f"the stage {name!r} of another package cannot be built ({describe(fault)})", where="stages",
            remedy="correct the package, or leave the stage out",
        ) from fault  # fmt: skip
    if made is None or isinstance(made, Stage):
        return made
    raise ConfigError(
        f"the function of the stage {name!r} of another package returned {type(made).__name__}",
        where="stages", allowed="a Stage, or None where the stage does not apply",
    )  # fmt: skip


def describe(fault: BaseException) -> str:
    """Describe an exception in a few words."""
    return f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__


def objection(quantities: Sequence[object]) -> str:
    """Return why quantities of a package cannot be published, as text; "" if they can."""
    for quantity in quantities:
        if not is_usable(quantity):
            return f"the quantity {getattr(quantity, 'name', quantity)!r} is not an array of float64"
    return misfit([quantity for quantity in quantities if isinstance(quantity, Quantity)], {})


def misfit(quantities: Sequence[Quantity], meta: Mapping[str, Any]) -> str:
    """Return why no descriptor can contain these quantities and metadata, as text; "" if one can."""
    try:
        check_description(quantities, meta)
    except FAULTS as fault:
        return describe(fault)
    return ""


def check_description(quantities: Sequence[Quantity], meta: Mapping[str, Any]) -> None:
    """Raise an exception if quantities, or entries of the metadata, are beyond what a descriptor permits."""
    encode(Fields(quantities, 0.0, 0, meta).session)


def is_usable(quantity: object) -> bool:
    """Return whether an object is a quantity whose arrays are writable and of float64, so that they can be
    published, and set to NaN after an error of the stage.
    """
    if not isinstance(quantity, Quantity):
        return False
    given = (quantity.array, quantity.deviation, quantity.mask, quantity.implausible)
    arrays = [array for array in given if array is not None]
    return all(
        isinstance(array, np.ndarray) and array.dtype == np.float64 and array.flags.writeable
        for array in arrays
    )
