"""Bad input of every kind, as a user would give it: one clear sentence, no traceback, an exit code."""

from __future__ import annotations

import pytest

METHODS = "zero, minimised, prescribed, hinge, ball, free"
SOURCES = "walker, jaw:chewing, jaw:protrusion, jaw:opening, a .trc, .c3d or .mcap file, or tcp://HOST:PORT"
REPLAY = ("replay", "walker", "--address", "tcp://127.0.0.1:0", "--wait", "0")
ESTIMATE = ("estimate", "--markers", "tcp://127.0.0.1:1", "--subject", "walker")

# arguments, words of the sentence
IN_PROCESS = [
    (("dance",), ("there is no command 'dance'", "live, estimate, analyse, report, paper, norms, connect")),
    (("live", "--sped", "2"), ("No such option", "--sped")),
    (("live", "--duration", "soon"), ("--duration", "soon", "not a valid float")),
    (("live", "--side", "up"), ("--side", "up", "right", "left")),
    (("live", "--duration", "-1"), ("--duration: -1.0", "allowed: 0")),
    (("live", "--duration", "nan"), ("--duration: nan", "allowed: 0")),
    (("analyse", "walker", "--mass", "nan"), ("--mass", "nan is no number")),
    (("diff", "a.csv", "b.csv", "--tolerance", "nan"), ("--tolerance", "nan is no number")),
    (("replay", "--exact", "a.mcap", "--tolerance", "nan"), ("--tolerance", "nan is no number")),
    (("live", "--source", "nowhere.trc"), ("--source", "nowhere.trc", SOURCES)),
    (("live", "--config", "nowhere"), ("nowhere", "give the path of a .toml file")),
    (("live", "--config", "bad.toml"), ("bad.toml", "duratoin_s", "backlog")),
    (("live", "--record", "there.mcap"), ("there.mcap exists already", "choose another name")),
    (("live", "--record", "no/folder/new.mcap"), ("--record: there is no folder no/folder",)),
    (("estimate",), ("--markers: the address of a marker stream is missing", "tcp://HOST:PORT")),
    (("estimate", "--markers", "tcp://127.0.0.1:1"), ("--subject", "rtsim calibrate")),
    ((*ESTIMATE, "--method", "best"), ("unknown method 'best'", METHODS)),
    ((*ESTIMATE, "--subject", "nobody"), ("nobody", "walker")),
    ((*ESTIMATE, "--model", "arm"), ("arm", "lower_limb")),
    ((*ESTIMATE, "--key", "a"), ("--key and --clients go together",)),
    ((*ESTIMATE, "--client-key", "a"), ("--client-key and --server-key go together",)),
    ((*ESTIMATE, "--forces-server-key", "a"), ("--client-key and --forces-server-key go together",)),
    (("replay",), ("Missing argument", "SOURCE")),
    (("replay", "nowhere.c3d"), ("nowhere.c3d", SOURCES.removesuffix(", or tcp://HOST:PORT"))),
    (("replay", "text.txt"), ("text.txt", ".trc, .c3d, .mcap")),
    (("replay", "text.trc"), ("text.trc", "not a TRC file")),
    (("replay", "."), ("cannot be read", ".trc, .c3d, .mcap")),
    ((*REPLAY, "--speed", "0"), ("--speed: 0.0", "more than 0")),
    ((*REPLAY, "--speed", "inf"), ("--speed: inf", "more than 0")),
    ((*REPLAY, "--rate", "0"), ("--rate: 0.0", "more than 0")),
    ((*REPLAY, "--rate", "nan"), ("--rate: nan", "more than 0")),
    ((*REPLAY, "--duration", "-1"), ("--duration: -1.0", "allowed: 0")),
    ((*REPLAY, "--duration", "1e9"), ("--duration", "10000 s")),
    ((*REPLAY, "--start", "20"), ("no frames between --start and --end", "0 to 9.99 s")),
    ((*REPLAY, "--end", "-1"), ("--end: -1.0", "0 s (--start) or more")),
    ((*REPLAY, "--start", "-1"), ("--start: -1.0", "0 s or more")),
    ((*REPLAY, "--wait", "-1"), ("--wait: -1.0", "0 (start at once)")),
    (("replay", "tcp://127.0.0.1:5560"), ("no such source", "walker")),
    (("replay", "walker", "--address", "nonsense"), ("'nonsense' is not an address", "tcp://127.0.0.1:5560")),
    (("replay", "walker", "--address", "tcp://0.0.0.0:0"), ("can be reached from the network", "no keys")),
    (("replay", "walker", "--address", "tcp://127.0.0.1:0", "--key", "none", "--clients", "."), ("none",)),
    (("record", "tcp://127.0.0.1:1"), ("Missing argument", "PATH")),
    (("record", "there.mcap"), ("ADDRESS: 'there.mcap' is not an address",)),
    (("record", "nonsense", "new.mcap"), ("'nonsense' is not an address", "tcp://127.0.0.1:5560")),
    (("record", "tcp://127.0.0.1:1", "there.mcap"), ("there.mcap exists already",)),
    (("record", "tcp://127.0.0.1:1", "no/folder/new.mcap"), ("PATH: there is no folder no/folder",)),
    (("record", "tcp://127.0.0.1:1", "new.txt"), ("PATH: new.txt cannot be a recording", ".mcap")),
    (("live", "--record", "new.txt"), ("--record: new.txt cannot be a recording", ".mcap")),
    (("live", "--record", "new"), ("--record: new cannot be a recording", ".mcap")),
    (("record", "tcp://127.0.0.1:1", "new.mcap", "--duration", "-1"), ("--duration: -1.0", "more than 0")),
    (("export", "nowhere.mcap", "out.csv"), ("nowhere.mcap: no such file",)),
    (("export", "text.txt", "out.csv"), ("text.txt", "not a recording")),
    (("export", "nowhere.mcap", "out.xls"), ("cannot export to '.xls'", ".trc, .mot, .sto, .csv")),
    (("command", "status", "--control", "nonsense"), ("'nonsense' is not an address",)),
    (("command", "set_method", "zero"), ("'zero' has no value", "KEY=VALUE")),
    (("calibrate", "nowhere.trc"), ("nowhere.trc: no such file",)),
    (("check", "bad.toml"), ("1 of 1 configs",)),
    (("keys", "there.mcap/keys", "me"), ("there.mcap",)),
    (("keys", ".", "../me"), ("plain file name",)),
    (("study", "nowhere.toml"), ("nowhere.toml: no such file",)),
    (("study", "bad.toml", "--shard", "3/2"), ("--shard", "1/N to N/N")),
    (("study", "bad.toml"), ("bad.toml", "duratoin_s")),
    (("doctor", "nonsense"), ("'nonsense' is not an address",)),
    (("doctor", "tcp://127.0.0.1:1", "--seconds", "-1"), ("--seconds",)),
]  # fmt: skip


IN_USE = (
    "{0} is in use, perhaps by another run; end that run, give another {1} (port 0: any free port), or leave "
    "{1} out and give --port-offset auto"
)


@pytest.fixture
def folder(tmp_path):
    """Files that are not what their names say."""
    (tmp_path / "bad.toml").write_text('name = "mine"\nduratoin_s = 3.0\n')
    (tmp_path / "text.txt").write_text("some text\n")
    (tmp_path / "text.trc").write_text("some text\n")
    (tmp_path / "there.mcap").write_text("")
    return tmp_path


def name_of(arguments: tuple[str, ...]) -> str:
    return " ".join(arguments)


@pytest.mark.parametrize(("arguments", "words"), IN_PROCESS, ids=[name_of(a) for a, _ in IN_PROCESS])
def test_bad_input_is_one_sentence(here, folder, arguments, words):
    """Protects the user: what is wrong, where, what is allowed; nothing on standard output."""
    done = here(*arguments)
    assert done.code != 0
    assert "Traceback" not in done.err
    assert done.sentence.startswith(("rtsim: ", "Error: ")), done.err
    for word in words:
        assert word in done.sentence, done.err


@pytest.mark.process
def test_a_process_ends_with_the_sentence_and_the_code(rtsim):
    """Protects scripts: the same from a real process, nothing on standard output."""
    done = rtsim("live", "--duration", "-1")
    assert (done.code, done.out) == (1, "")
    assert done.err == "rtsim: --duration: -1.0; allowed: 0 (until the end) to 604800 s\n"
    done = rtsim("dance")
    assert (done.code, done.out) == (2, "")
    assert "there is no command 'dance'" in done.sentence


@pytest.mark.process
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--source", "text.trc"), ("text.trc: the header has no DataRate line",)),
        (("--speed", "-1"), ("--speed: -1.0", "more than 0")),
        (("--rate", "-5"), ("--rate: -5.0",)),
        (("--start", "20"), ("no frames between --start and --end",)),
        (("--method", "best"), ("unknown method 'best'", METHODS)),
        (("--subject", "nobody"), ("nobody", "walker")),
        (("--results", "tcp://0.0.0.0:0"), ("can be reached from the network", "no keys")),
    ],
    ids=lambda value: value[0] if value[0].startswith("--") else "",
)
def test_what_a_process_of_the_run_says_is_handed_on(rtsim, folder, any_ports, arguments, words):
    """Protects the user of `live`: the sentence of player or estimator, as if there were one process only."""
    done = rtsim("live", "--json", *any_ports, *arguments)
    assert (done.code, done.out) == (1, "")
    *before, sentence = done.err.splitlines()
    assert all(line.startswith("compiling") for line in before)  # where the kernels are not there yet
    assert sentence.startswith("rtsim: ")
    for word in words:
        assert word in sentence


@pytest.mark.process
@pytest.mark.parametrize("option", ["--results", "--control"])
def test_an_address_in_use_is_told(rtsim, any_ports, taken, option):
    """Protects against a second estimator on the same port: which address, and what to do."""
    done = rtsim("live", "--json", *any_ports, option, taken)
    assert (done.code, done.out) == (1, "")
    assert done.err == f"rtsim: {option}: {IN_USE.format(taken, option)}\n"


def test_a_player_on_an_address_in_use_is_told(here, taken):
    """Protects against a second player on the same port."""
    done = here("replay", "walker", "--address", taken)
    assert done.code == 1
    assert done.sentence == f"rtsim: --address: {IN_USE.format(taken, '--address')}"


def test_a_command_to_nobody_is_told(here, port):
    """Protects the user of `command`: who did not answer, and what to look at."""
    done = here("command", "status", "--control", f"tcp://127.0.0.1:{port}")
    assert done.code == 1
    assert f"Nobody answered at tcp://127.0.0.1:{port}" in done.sentence
    assert "is the estimator running?" in done.sentence


@pytest.mark.parametrize("option", [("--loop",), ("--start", "1")])
def test_an_exact_replay_says_undecided_where_it_did_not_compare(here, option):
    """Protects scripts, for which exit code 1 means that the results of the recorded run differ."""
    done = here("replay", "--exact", "walk.mcap", *option)
    assert (done.code, done.out) == (2, "")
    assert f"{option[0]}: the option applies only to playing" in done.sentence
