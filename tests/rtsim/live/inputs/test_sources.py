"""Where markers and subjects come from, and what is said when they do not."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from kernels.compiler.jit import allow_compilation
from rtsim.config.paths import configs_root
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.files.markers.markers import write_trc
from rtsim.live.inputs.sources import load_trial, resolve_subject
from rtsim.live.processes.serve import prepare
from rtsim.models.load import load_model
from rtsim.subjects.subject import save_subject
from streams.addresses import is_stream


@pytest.mark.parametrize(
    ("source", "expected"),
    [("tcp://127.0.0.1:5560", True), ("ipc:///run/markers", True), ("walker", False), ("a/b.trc", False)],
)
def test_streams_are_told_from_files(source, expected):
    """Protects the one option that names all kinds of sources."""
    assert is_stream(source) == expected


def test_the_walker_has_the_length_and_rate_asked_for():
    """Protects --duration and --rate of the built-in walker."""
    assert len(load_trial("walker").times) == 1000
    trial = load_trial("walker", 0.5, 200.0)
    assert (len(trial.times), trial.rate) == (100, 200.0)
    np.testing.assert_allclose(np.diff(trial.times), 0.005)


def test_the_walker_is_the_same_every_time():
    """Protects repeatability: figures of two runs can be compared."""
    np.testing.assert_array_equal(load_trial("walker", 0.2).positions, load_trial("walker", 0.2).positions)


def test_a_file_keeps_its_own_length(tmp_path, trial):
    """Protects recordings from the walker's options."""
    write_trc(tmp_path / "walk.trc", trial)
    read = load_trial(str(tmp_path / "walk.trc"), 0.2, 50.0)
    assert (read.names, read.rate, len(read.times)) == (trial.names, 100.0, len(trial.times))
    np.testing.assert_allclose(read.positions, trial.positions, atol=1e-9)


@pytest.mark.parametrize("source", ["nowhere.trc", "walk", ""])
def test_a_missing_source_is_told(source):
    """Protects the user of --source: what there may be."""
    with pytest.raises(ConfigError, match=r"allowed: .*walker|cannot be read"):
        load_trial(source)


def test_the_walker_brings_its_subject(subject):
    """Protects the run without options."""
    assert resolve_subject(RunConfig(name="r")) == subject


def test_the_walker_is_nobody_in_a_static_trial():
    """Protects a person from the walker's skeleton: a static trial that is not used is refused."""
    with pytest.raises(ConfigError, match="--static: the synthetic walker is calibrated already"):
        resolve_subject(RunConfig(name="r", static="anna.c3d"))


def test_a_subject_that_is_named_comes_first(tmp_path, subject):
    """Protects --subject: by file or by shipped name, whatever the source."""
    mine = msgspec.structs.replace(subject, name="mine")
    save_subject(tmp_path / "mine.toml", mine)
    assert resolve_subject(RunConfig(name="r", subject=str(tmp_path / "mine.toml"))) == mine
    assert resolve_subject(RunConfig(name="r", source="tcp://127.0.0.1:1", subject="walker")) == subject


def test_a_stream_without_subject_is_told_how_to_get_one():
    """Protects the user of a stream: the command that makes a subject is named."""
    with pytest.raises(
        ConfigError,
        match=r"--subject: a live stream of markers needs a calibrated subject; .*rtsim calibrate",
    ):
        resolve_subject(RunConfig(name="r", source="tcp://127.0.0.1:1"))


def test_a_model_with_methods_of_its_own_can_be_run(tmp_path):
    """Protects the author of a model: it need not have the usual methods."""
    text = (configs_root() / "models" / "lower_limb.toml").read_text(encoding="utf-8")
    own = text[: text.index("[methods.zero]")] + text[text.index("[methods.hinge]") :]
    (tmp_path / "own.toml").write_text(own, encoding="utf-8")
    try:
        (kinematics, *_) = prepare(RunConfig(name="r", model=str(tmp_path / "own.toml"), method="free"))
    finally:
        allow_compilation()
    estimator = kinematics.estimator
    assert (estimator.method, estimator.methods) == ("free", ("free",))


def test_an_unknown_method_or_model_is_told_before_anything_is_compiled():
    """Protects the user of --method and --model."""
    with pytest.raises(ConfigError, match=r"unknown method 'best'; allowed: zero, minimised"):
        prepare(RunConfig(name="r", method="best"))
    with pytest.raises(ConfigError, match=r"methods of the run config: unknown method 'best'"):
        prepare(RunConfig(name="r", methods=("minimised", "best")))
    with pytest.raises(ConfigError, match="lower_limb"):
        load_model("upper_limb")
