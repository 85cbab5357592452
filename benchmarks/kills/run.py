"""`rtsim bench kills`: kill -9 of the processes of a laboratory, one after another at random, and the
remaining recordings.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from benchmarks.kills.commands import CommandError
from benchmarks.kills.judge import FLUSH_MS, KillVerdict
from benchmarks.kills.lab import ROLES, STREAMS, Lab
from rtsim.bench.figures import BenchFigure, say

SHORTEST_S, LONGEST_S = 0.1, 1.0
"""Time between the moment when all works and a kill [s]."""
MOST_BYTES = 500_000
"""A recording of this size is begun anew, so that looking at it takes no longer than the rest."""


class Kill(NamedTuple):
    """A kill: its number, the killed process, the stream of a recorder, and the verdict on each recording."""

    number: int
    role: str
    stream: str
    verdicts: dict[str, KillVerdict]


class KillsFound(NamedTuple):
    """All kills of a run, and descriptions of other problems."""

    seed: int
    kills: list[Kill]
    troubles: list[str]

    def faults(self) -> list[str]:
        """Faults of all recordings, each with the kill that it belongs to."""
        return [
            f"kill {kill.number} of the {kill.role}, seed {self.seed}, {name}: {fault}"
            for kill in self.kills for name, one in kill.verdicts.items() for fault in one.faults
        ]  # fmt: skip

    def figures(self) -> list[BenchFigure]:
        """Return the results of the run."""
        counted = Counter(kill.role for kill in self.kills)
        of_recorder = [v for kill in self.kills if kill.role == ROLES[0] for v in kill.verdicts.values()]
        of_others = [v for kill in self.kills if kill.role != ROLES[0] for v in kill.verdicts.values()]
        every = [*of_recorder, *of_others]
        lost_ms = max((one.lost_ms for one in of_recorder), default=0.0)
        behind_ms = max((one.lost_ms for one in of_others), default=0.0)
        most = max((one.n_lost for one in of_recorder), default=0)
        return [
            BenchFigure("kills", float(len(self.kills)), "1"),
            *(BenchFigure(f"kills.{role}", float(counted[role]), "1") for role in ROLES),
            BenchFigure("seed", float(self.seed), "1"),
            BenchFigure("recordings", float(len(every)), "1"),
            BenchFigure("messages", float(sum(one.n_expected for one in every)), "1"),
            BenchFigure("unreadable", float(len(self.faults())), "1", 0.0, "lower"),
            BenchFigure("lost_messages.most", float(most), "1"),
            BenchFigure("lost_ms.most", lost_ms, "ms", FLUSH_MS, "lower"),
            BenchFigure("behind_ms.most", behind_ms, "ms"),
            BenchFigure("troubles", float(len(self.troubles)), "1"),
        ]


def run(count: int, seed: int) -> KillsFound:
    """Kill `count` processes; Ctrl-C ends early with the results so far."""
    found = KillsFound(seed, [], [])
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="rtsim-kills-") as folder:
        lab = None
        try:
            while len(found.kills) < count:
                try:
                    if lab is None:
                        say(f"kills: starting everything, seed {seed}")
                        lab = Lab(Path(tempfile.mkdtemp(dir=folder)))
                        lab.begin()
                    found.kills.append(one_kill(lab, chance, len(found.kills)))
                except CommandError as trouble:  # of the lab, not of a recording: all is begun anew
                    found.troubles.append(str(trouble))
                    say(f"kills: {trouble}")
                    if len(found.troubles) > 3 + count // 10:
                        break
                    if lab is not None:
                        lab.close()
                    lab = None
        except KeyboardInterrupt:
            pass
        finally:
            if lab is not None:
                lab.close()
    return found


def one_kill(lab: Lab, chance: random.Random, number: int) -> Kill:
    """Wait for a random time, kill one process at random, judge the recordings, and start it again."""
    role, stream = chance.choice(ROLES), chance.choice([*STREAMS])
    time.sleep(chance.uniform(SHORTEST_S, LONGEST_S))
    verdicts, sizes = lab.kill(role, stream)
    lost = max(one.lost_ms for one in verdicts.values())
    say(
        f"kill {number}: {role}{f' of {stream}' if role == 'recorder' else ''}, {lost:.1f} ms not in the file"
    )
    lab.restart(role, stream)
    for name in STREAMS:
        if sizes.get(name, 0) > MOST_BYTES:
            lab.recordings[name].command.kill()
            lab.restart("recorder", name)
    return Kill(number, role, stream if role == "recorder" else "", verdicts)
