"""A cache folder that cannot be written: every command that compiles says so, once, and works all the same.

The compiler is off, so that this takes seconds; whether the code can be kept is looked at all the same.
"""

from __future__ import annotations

import sys

import pytest

LOCAL = "tcp://127.0.0.1:0"
ANY = ("--results", LOCAL, "--control", LOCAL)
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a folder that nobody may write"),
]


@pytest.mark.parametrize(
    "arguments",
    [
        ("live", "--duration", "0.1", "--json", *ANY),
        ("moment-arms", "pin"),
        ("simulate", "stick_slip", "--duration", "0.01"),
        ("simulate", "stick_slip", "--live", "--rate", "10", "--frame-rate", "10", "--duration", "0.2", *ANY),
    ],
    ids=lambda arguments: " ".join(arguments[:3]),
)
def test_kernels_that_cannot_be_kept_are_told_once(rtsim, monkeypatch, arguments):
    """Protects patience: why every start is slow, and what to set, is said one time."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/proc/nowhere")
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    done = rtsim(*arguments)
    assert done.code == 0, done.err
    assert done.err.count("NUMBA_CACHE_DIR") == 1


def test_a_cache_that_others_may_write_to_is_told_once(rtsim, monkeypatch, tmp_path):
    """Protects the user's account: nothing is run of what anybody could have put there, and it is said."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels").chmod(0o777)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    done = rtsim("live", "--duration", "0.1", "--json", *ANY)
    assert done.code == 0, done.err
    assert done.err.count("somebody else may have put them there") == 1
    assert f"`rm -r {tmp_path / 'kernels'}`" in done.err


def test_a_bench_tells_it_before_it_measures(start, monkeypatch):
    """Protects who measures with a cold cache every time: the note comes first."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/proc/nowhere")
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    process = start("bench", "dynamics")
    process.said("NUMBA_CACHE_DIR")
    process.popen.terminate()
    done = process.wait()
    assert done.code == 143
    assert done.err.count("NUMBA_CACHE_DIR") == 1


def test_the_estimator_tells_it_in_a_state(start, monkeypatch):
    """Protects programs that start the estimator: the note comes in one of its states, before it is ready."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/proc/nowhere")
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    process = start("estimate", "--markers", "tcp://127.0.0.1:1", "--subject", "walker", *ANY)
    process.state("ready")
    process.popen.terminate()
    done = process.wait()
    assert done.code == 143
    assert done.out.count("NUMBA_CACHE_DIR") == 1
