"""Stages of other packages that raise, return nonsense, hang or grow: counted and told, the run goes on."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.live.result_session import ResultSession
from rtsim.quantity import Quantity
from rtsim.stages.building import package_stage
from rtsim.stages.building.declaration import StageDeclaration
from rtsim.stages.building.package_stage import PackageStage, made_by_package
from rtsim.stages.stage import FINE, Stage, StageCommand
from streams.codec import decode, encode
from streams.messages import Status

GOOD_FRAMES = 2
METHODS = ("run", "report", "collect", "gauges", "status_text", "meta", "begin", "quantities", "outdated")


class FaultyStage(Stage):
    """A stage that fails in one of its methods, from the third frame on where it is of frames."""

    def __init__(self, where: str = "", fault: BaseException | None = None) -> None:
        super().__init__()
        self._where, self._fault = where, fault or ZeroDivisionError("by zero")
        self._n, self.height = 0, np.zeros(1)
        self.orders = {"turn": StageCommand(self._order, self._order)}

    def _order(self, args):
        raise self._fault

    def _perhaps(self, where: str) -> None:
        if where == self._where and (self._n > GOOD_FRAMES or where in ("begin", "quantities", "meta")):
            raise self._fault

    def begin(self, session, anew) -> None:
        self._perhaps("begin")

    @property
    def outdated(self) -> bool:
        self._perhaps("outdated")
        return False

    def run(self, frame):
        self._n += 1
        self._perhaps("run")
        self.height[0] = 1.0
        return None if self._where == "nothing" and self._n > GOOD_FRAMES else FINE

    def report(self) -> None:
        self._perhaps("report")

    def quantities(self):
        self._perhaps("quantities")
        return [Quantity("height", self.height, "m", ("knee",))]

    def meta(self):
        self._perhaps("meta")
        return {}

    def gauges(self):
        self._perhaps("gauges")
        return {"height_m": 1.0}

    def status_text(self) -> str:
        self._perhaps("status_text")
        return "well"

    def collect(self):
        self._perhaps("collect")
        return super().collect()


class Steady(Stage):
    """A stage of ours beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.angle = np.zeros(1)

    def run(self, frame):
        self.angle[0] = frame.seq
        return FINE

    def quantities(self):
        return [Quantity("angle", self.angle, "rad", ("knee",))]


@pytest.fixture
def passed(session, trial, make_frame):
    """Pass five frames through a guarded stage and one of ours: values of both and status of each frame."""

    def through(stage: Stage):
        guarded = PackageStage("lab", stage)
        course = ResultSession([Steady(), guarded], session, {})
        rows = []
        for seq in range(5):
            assert not guarded.outdated
            frame = make_frame(session, trial.positions[seq], seq)
            result = course.run(frame)
            data = course.message(frame, result, seq, result.status).data
            values = [np.frombuffer(data[name])[0] if name in data else None for name in ("angle", "height")]
            rows.append((*values, result.status))
        guarded.gauges(), guarded.status_text()
        return rows, *guarded.collect()

    return through


@pytest.mark.parametrize("where", METHODS)
def test_whatever_raises_ends_no_run(passed, where):
    """Protects a measurement: our results are the same, its fault is counted and told with its words."""
    rows, counters, sentences = passed(FaultyStage(where))
    assert [row[0] for row in rows] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert counters["stage_failed"] >= 1
    assert any(
        "'lab' of another package has failed (ZeroDivisionError: by zero)" in said for said in sentences
    )


@pytest.mark.parametrize("where", ["run", "nothing", "report"])
def test_values_of_a_frame_that_failed_are_missing(passed, where):
    """Protects who reads its values: none is left from the frame before, and the frame is flagged."""
    rows, counters, _ = passed(FaultyStage(where))
    assert [row[1] for row in rows[:GOOD_FRAMES]] == [1.0, 1.0]
    assert all(np.isnan(row[1]) for row in rows[GOOD_FRAMES:])
    assert counters["stage_failed"] == 3
    if where != "report":
        assert [row[2] for row in rows] == [Status.OK] * 2 + [Status.DEGRADED] * 3


def test_a_stage_that_cannot_begin_is_left_out(passed):
    """Protects the descriptor: no quantity is announced that nobody fills, each frame says that one lacks."""
    rows, counters, _ = passed(FaultyStage("begin"))
    assert [row[1] for row in rows] == [None] * 5
    assert {row[2] for row in rows} == {Status.DEGRADED}
    assert counters["stage_failed"] == 6


def test_a_package_does_not_end_the_process(passed):
    """Protects a run from `sys.exit` in a package, which would end it as if all were well."""
    rows, counters, _ = passed(FaultyStage("run", SystemExit(0)))
    assert (len(rows), counters["stage_failed"]) == (5, 3)


def test_an_interruption_is_none_of_its_faults(passed):
    """Protects Ctrl-C while the package is at work."""
    with pytest.raises(KeyboardInterrupt):
        passed(FaultyStage("run", KeyboardInterrupt()))


def test_a_stage_that_takes_long_is_named(passed, monkeypatch):
    """Protects who wonders why a run is late: the stage is named, with its time by a clock of the test."""
    clock = iter(range(0, 10**12, 5_000_000_000))
    monkeypatch.setattr(package_stage, "now_ns", lambda: next(clock))
    _, counters, sentences = passed(FaultyStage())
    assert counters["stage_slow"] == 5
    assert sentences == ["The stage 'lab' of another package took 5.0 s for a frame."]


@pytest.mark.parametrize("array", [np.zeros(1, np.float32), [0.0], np.broadcast_to(np.zeros(1), (2, 1))])
def test_arrays_that_cannot_be_published_are_left_out(array, session):
    """Protects all subscribers: other bytes than the descriptor says would make them refuse every frame."""

    class WrongArrays(FaultyStage):
        def quantities(self):
            return [Quantity("height", array, "m", ("knee",))]

    guarded = PackageStage("lab", WrongArrays())
    guarded.begin(session, True)
    assert guarded.quantities() == []
    assert "the quantity 'height' is not an array of float64" in guarded.collect()[1][0]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"unit": "m" * 33}, "no receiver would accept the descriptor"),
        ({"labels": ("x" * 129,)}, "no receiver would accept the descriptor"),
        ({"labels": ("a", "b")}, "has 2 labels for shape [1]"),
        ({"labels": 5}, "not iterable"),
    ],
)
def test_quantities_that_cannot_be_described_are_left_out(changed, words, session):
    """Protects the results of all stages from a descriptor that no receiver takes, or that ends the run."""

    class Indescribable(FaultyStage):
        def quantities(self):
            return [Quantity("height", self.height, "m", ("knee",))._replace(**changed)]

    guarded = PackageStage("lab", Indescribable())
    course = ResultSession([Steady(), guarded], session, {})
    assert [spec.name for spec in decode(encode(course.fields.session)).fields] == ["angle"]
    assert words in guarded.collect()[1][0]


@pytest.mark.parametrize("meta", [{"weight": None}, {"weight": b"70"}, {5: "weight"}, [("weight",)]])
def test_metadata_that_cannot_be_sent_are_left_out(meta, session):
    """Protects the descriptor from values that no message may hold: the rest is sent, and it is told."""

    class OddMeta(FaultyStage):
        def meta(self):
            return meta

    guarded = PackageStage("lab", OddMeta())
    course = ResultSession([Steady(), guarded], session, {"model": "knee"})
    assert decode(encode(course.fields.session)).meta["model"] == "knee"
    assert guarded.collect()[0]["stage_failed"] == 1


class Steps(Stage):
    """A stage that publishes what it is given."""

    def __init__(self, names=(), **meta) -> None:
        super().__init__()
        self._quantities = [Quantity(name, np.ones(1), "1", ("knee",)) for name in names]
        self._meta = meta

    def quantities(self):
        return self._quantities

    def meta(self):
        return self._meta


MANY = tuple(f"field_{k}" for k in range(128))


@pytest.mark.parametrize(
    ("package", "words"),
    [
        (Steps(["steps"]), "two fields"),
        (Steps(MANY), "fields"),
        (Steps(["pace"], notes=3), "notes"),
        (Steps(["pace"], notes=["a"], unknown={1: object()}), ""),
    ],
)
def test_what_does_not_fit_to_the_rest_of_the_run_is_left_out(package, words, session):
    """Protects the run from a package whose names or numbers of fields fit only alone: it publishes none."""
    for order in (0, 1):
        stages, guard = [Steps(["steps"])], PackageStage("mine", package)
        stages.insert(order, guard)
        results = ResultSession(stages, session, {"notes": ["of the run"]})
        described = decode(encode(results.fields.session))
        found = {spec.name for spec in described.fields}
        assert found - {"pace"} == {"steps"}
        assert "of the run" in described.meta["notes"]
        counters, sentences = guard.collect()
        assert counters["stage_failed"] >= 1
        assert any(words in sentence for sentence in sentences)


def test_what_fits_is_published_in_its_order(session):
    """Protects a package that is sound: its fields and metadata stand where its stage stands."""
    stages = [PackageStage("mine", Steps(["pace"], of_mine=1)), Steps(["steps"])]
    described = decode(encode(ResultSession(stages, session, {}).fields.session))
    assert [spec.name for spec in described.fields] == ["pace", "steps"]
    assert described.meta["of_mine"] == 1
    assert stages[0].collect() == ({}, [])


def test_a_fault_without_words_is_a_fault(monkeypatch):
    """Protects the run: an exception without a text also says that quantities cannot be described."""

    def refuse(quantities, meta):
        raise AssertionError

    monkeypatch.setattr(package_stage, "check_description", refuse)
    assert package_stage.objection([]) == "AssertionError"


def test_a_command_that_fails_is_answered() -> None:
    """Protects who commands: the answer says what failed, and the loop is not ended by it."""
    guarded = PackageStage("lab", FaultyStage())
    assert guarded.orders["turn"].answer({}) == (
        False,
        "The command turn has failed in the stage 'lab' of another package.",
    )
    assert guarded.orders["turn"].apply({}) is False
    assert guarded.collect()[0]["stage_failed"] == 2


def test_what_cannot_be_built_is_refused_before_the_run():
    """Protects the start: a package that raises, or makes no stage, is told in a sentence."""

    def broken(setting):
        raise KeyError("trial")

    for make, words in ((broken, "cannot be built (KeyError: 'trial')"), (lambda setting: 3, "returned int")):
        with pytest.raises(ConfigError) as told:
            made_by_package("lab", StageDeclaration(make=make), None)
        assert words in str(told.value)
    assert made_by_package("lab", StageDeclaration(make=lambda setting: None), None) is None
