"""Cases (recording, side, method, class of damage and seed): which cases a run takes, and how one case is
repeated.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from benchmarks.damage.one_marker import hang_on_one
from benchmarks.damage.persons import N_PART, RecordedPerson
from benchmarks.damage.scene import Damage, DamagedMarkers, DamageKind
from benchmarks.damage.scores import Score, score
from benchmarks.damage.solving import SolvedScene, solve
from rtsim.errors import ConfigError

N_SEED = 20
QUICK_ROUNDS = 30
"""Cases of each class in a quick run."""
N_CLEAN = 256
"""Clean runs that are kept."""


class DamageCase(NamedTuple):
    """The identity of a case, by which it can be repeated; as text RECORDING:SIDE:METHOD:CLASS:SEED."""

    recording: str
    side: str
    method: str
    kind: str
    seed: int

    def __str__(self) -> str:
        return ":".join(map(str, self))


class Plan(NamedTuple):
    """The lists of which cases are combinations."""

    recordings: tuple[str, ...]
    sides: tuple[str, ...]
    methods: tuple[str, ...]
    kinds: tuple[str, ...]


class Done(NamedTuple):
    """A finished case: its damage and its score."""

    case: DamageCase
    what: str  # the damage in words
    first: int  # of its frames, counted from the begin of the recording
    worst: int
    lasts: bool
    score: Score


class Clean(NamedTuple):
    """An undamaged recording, or a part of it, with its solution."""

    person: RecordedPerson
    scene: DamagedMarkers
    start: int  # its first frame in the recording
    solved: SolvedScene
    hangs: NDArray[np.bool_]  # (n_frame,) - complete frames that are flagged, and hang on one marker


def parse_case(words: str, kinds: Sequence[str]) -> DamageCase:
    """Return the case described by a text; ConfigError for an invalid text."""
    parts = words.rsplit(":", 4)
    if len(parts) != 5 or not parts[4].isdecimal() or parts[3] not in kinds:
        raise ConfigError(
            f"{words!r} is not the name of a case",
            where="--case", allowed="RECORDING:SIDE:METHOD:CLASS:SEED",
            remedy="give one of the cases that --worst lists",
        )  # fmt: skip
    recording, side, method, kind, seed = parts
    return DamageCase(recording, side, method, kind, int(seed))


def quick_cases(workshop: Workshop, plan: Plan) -> Iterator[DamageCase]:
    """Yield each class QUICK_ROUNDS times, round by round, evenly over all recordings, sides and methods.

    A recording is used with one side and every method; each combination has its own seeds.
    """
    places = []
    for k, recording in enumerate(plan.recordings):
        first = k % len(plan.sides)
        turned = plan.sides[first:] + plan.sides[:first]
        side = next((side for side in turned if workshop.person(recording, side) is not None), None)
        places += [(recording, side, method) for method in plan.methods if side is not None]
    order = np.random.default_rng(0).permutation(len(places)).tolist()
    for k in range(QUICK_ROUNDS * len(plan.kinds) if places else 0):
        cycle, place = divmod(k, len(places))
        at = order[(place + cycle) % len(places)]
        recording, side, method = places[at]
        # the part of the recording stays the same, so that one clean run does
        yield DamageCase(
            recording, side, method, plan.kinds[k % len(plan.kinds)], at + N_PART * len(places) * cycle
        )


def full_cases(plan: Plan) -> Iterator[DamageCase]:
    """Yield every combination with N_SEED seeds, recording by recording."""
    for recording in plan.recordings:
        for side in plan.sides:
            for method in plan.methods:
                for seed in sorted(range(N_SEED), key=lambda seed: seed % N_PART):
                    for kind in plan.kinds:
                        yield DamageCase(recording, side, method, kind, seed)


class Workshop:
    """Persons and clean solutions, stored for the cases that share them.

    Attributes
    ----------
    left_out : recording -> the sides for which it cannot be used, and why
    """

    def __init__(self, folder: Path | None, kinds: dict[str, DamageKind]) -> None:
        self.folder, self.kinds = folder, kinds
        self.left_out: dict[str, list[str]] = {}
        self._persons: dict[tuple[str, str], RecordedPerson | None] = {}
        self._clean: OrderedDict[tuple[str, str, str, int], Clean] = OrderedDict()

    def person(self, recording: str, side: str) -> RecordedPerson | None:
        """Return the person of a recording; None if the recording cannot be used, or does not have that
        side.
        """
        key = (recording, side)
        if key not in self._persons:
            try:
                self._persons[key] = RecordedPerson(self.folder, recording, side)
            except ConfigError as error:
                self._persons[key] = None
                self.left_out.setdefault(recording, []).append(f"{side}: {error}")
        return self._persons[key]

    def clean(self, case: DamageCase) -> Clean | None:
        """Return the clean solution for a case; None if the recording cannot be used."""
        person, part = self.person(case.recording, case.side), case.seed % N_PART
        if person is None:
            return None
        key = (case.recording, case.side, case.method, part)
        if key not in self._clean:
            person.use(case.method)
            scene = person.scene(part)
            start = int(np.searchsorted(person.trial.times, scene.times[0]))
            solved = solve(person, scene)
            hangs = hang_on_one(person, scene, solved, scene.complete & (solved.status != 0))
            self._clean[key] = Clean(person, scene, start, solved, hangs)
            if len(self._clean) > N_CLEAN:
                self._clean.popitem(last=False)
        return self._clean[key]

    def damage(self, case: DamageCase, scene: DamagedMarkers) -> Damage | None:
        """Return the damage of a case, which is the same for every method."""
        rng = np.random.default_rng([case.seed, crc32(case.kind.encode()), crc32(case.recording.encode())])
        return self.kinds[case.kind].damage(rng, scene)

    def do(self, case: DamageCase) -> Done | None:
        """Solve and score a case; return None if the recording cannot be used, or cannot be damaged in this
        way.
        """
        clean = self.clean(case)
        damage = self.damage(case, clean.scene) if clean else None
        if clean is None or damage is None:
            return None
        found = self.score_of(clean, damage, case.method)
        worst = clean.start + found.worst if found.worst >= 0 else -1
        lasts = damage.stop >= clean.scene.n_frame
        return Done(
            case=case,
            what=damage.what,
            first=clean.start + damage.first,
            worst=worst,
            lasts=lasts,
            score=found,
        )

    def score_of(self, clean: Clean, damage: Damage, method: str) -> Score:
        """Return the score of a damage; a static trial that is rejected, or noted, counts as reported before
        the first frame.
        """
        try:
            person = clean.person.damaged(damage)
        except ConfigError:
            return score(clean.solved, clean.solved, damage, clean.scene, told=True)
        person.use(method)
        found = solve(person, clean.scene, damage)
        return score(found, clean.solved, damage, clean.scene, told=person.warns_more_than(clean.person))
