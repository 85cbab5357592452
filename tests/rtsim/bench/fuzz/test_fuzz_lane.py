"""The lane of `rtsim bench fuzz`: mutations by seed, what counts as a finding, what is kept."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

import pytest

from benchmarks.fuzz.corpus import FuzzFolder
from benchmarks.fuzz.judge import judged, sentence_fault
from benchmarks.fuzz.loop import CurrentInput, FuzzLoop, current_input
from benchmarks.fuzz.mutation.forms import MUTATIONS
from benchmarks.fuzz.mutation.packets import joined, parted
from benchmarks.fuzz.run import chosen_targets
from benchmarks.fuzz.target import FuzzTarget, require
from benchmarks.fuzz.targets import targets_of
from rtsim.errors import ConfigError
from rtsim.files.markers import c3d
from streams.errors import DecodeError

MODULES = ("messages", "capture", "markers", "forces", "surfaces", "tables", "opensim", "c3d")


def refusing(data: bytes) -> None:
    """A reader with one fault of each kind."""
    if data == b"raise":
        raise KeyError("x")
    if data == b"bell":
        raise DecodeError("malformed", "a name\a that rings")
    require(data != b"inf", "a rate of 1e99")
    if data == b"refuse":
        raise DecodeError("malformed", "it is not right")


@pytest.fixture(autouse=True)
def own_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """The target of C3D files puts another reader in its process: here it is taken back."""
    monkeypatch.setattr(c3d, "read_content", c3d.read_content)


TARGET = FuzzTarget("refusing", refusing, lambda: [b"seed"])


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "read"),
        (b"refuse", "refused"),
        (b"raise", "exception"),
        (b"bell", "sentence"),
        (b"inf", "nonsense"),
    ],
)
def test_each_kind_of_finding_is_told_from_what_a_reader_may_do(
    data: bytes, kind: str, tmp_path: Path
) -> None:
    """Protects the judgement: errors with a sentence are no finding, all else is."""
    outcome = judged(TARGET, data, tmp_path)
    assert outcome.kind == kind
    assert outcome.is_finding == (kind not in ("read", "refused"))


@pytest.mark.parametrize("text", ["", "a\nb", "\u202ex", "\ud800", "\u2028", "x" * 5000])
def test_a_text_that_is_no_sentence_is_a_fault(text: str) -> None:
    """Protects terminals and logs from what no user can read."""
    assert sentence_fault(text)
    assert not sentence_fault("A sentence with an \u00e9paule\u00a0droite and \u3042.")


@pytest.mark.parametrize("form", sorted(MUTATIONS))
def test_mutations_repeat_by_their_seed(form: str) -> None:
    """Protects findings: the same seed draws the same input, whatever it is mutated from."""
    seeds = [
        b"<a><b x='1'>2</b></a>",
        b'x = 1\ny = { z = [1.0, "a"] }\n',
        bytes(range(40)),
        b"",
        joined([b"ab", b"c"]),
    ]
    changed = 0
    for seed in seeds:
        for k in range(60):
            first, second = (MUTATIONS[form](seed, seeds, Random(k)) for _ in range(2))
            assert first == second
            changed += first != seed
    assert changed > 100


def test_packets_of_a_conversation_come_back() -> None:
    """Protects conversations in one input, one that is cut off too."""
    packets = [b"abc", b"", b"\0" * 9]
    assert parted(joined(packets)) == packets
    assert parted(joined(packets)[:-4]) == [b"abc", b"", b"\0" * 5]


def test_a_finding_is_saved_once_with_the_command_that_repeats_it(tmp_path: Path) -> None:
    """Protects who finds something: the shortest input of a place is kept, and how to see it again."""
    folder = FuzzFolder(tmp_path, TARGET)
    outcome = judged(TARGET, b"raise", tmp_path)
    assert folder.report(b"raise and more", outcome) is not None
    assert folder.report(b"raise and even more", outcome) is None
    assert folder.report(b"raise", outcome) is not None
    (finding,) = folder.findings()
    assert Path(finding.path).read_bytes() == b"raise"
    assert finding.command == f"rtsim bench fuzz --only refusing --repeat {finding.path}"


def test_the_input_that_kills_a_process_is_known(tmp_path: Path) -> None:
    """Protects the finding of a crash: what was fed last stands in a file."""
    current = CurrentInput(tmp_path / "current", 100)
    current.put(b"first")
    current.put(b"x")
    assert current_input(tmp_path / "current") == (2, b"x")


def test_the_plain_loop_keeps_what_has_a_new_outcome(tmp_path: Path) -> None:
    """Protects the lane without atheris: it begins with its corpus and adds to it."""
    folder = FuzzFolder(tmp_path, TARGET)
    folder.keep(b"raise")
    with tempfile.TemporaryDirectory() as scratch:
        loop = FuzzLoop(TARGET, folder, Path(scratch), 0.0, 1)
        loop.warm_up()
        loop.run()
    assert loop.n_fed == 2
    assert [finding.kind for finding in folder.findings()] == ["exception"]


@pytest.mark.parametrize("module", MODULES)
def test_seeds_are_read_and_what_is_near_them_is_no_finding(module: str, tmp_path: Path) -> None:
    """Protects every reader, in a few hundred damaged inputs by a fixed seed; seeds themselves are sound."""
    pytest.importorskip("trimesh")
    for target in targets_of(module).values():
        for name, data in target.beside.items():
            (tmp_path / name).write_bytes(data)
        seeds = [seed[: target.longest] for seed in target.seeds()[:2]]
        random = Random(37)
        inputs = [MUTATIONS[target.form](seeds[k % len(seeds)], seeds, random) for k in range(20)]
        for data in [*seeds, *inputs]:
            outcome = judged(target, data[: target.longest], tmp_path)
            assert not (outcome.is_finding and outcome.kind != "slow"), (target.name, outcome, data[:2000])


def test_an_unknown_target_is_told() -> None:
    """Protects who mistypes a name."""
    with pytest.raises(ConfigError, match=r"there is no fuzz target 'nobody'; allowed: .*codec"):
        chosen_targets(["nobody"])
