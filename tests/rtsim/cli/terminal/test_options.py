"""Options and run configs: what is asked for is what the estimator's process is told."""

from __future__ import annotations

import pytest

from rtsim.cli.commands.estimate import run_and_markers
from rtsim.cli.commands.live import asked_of_estimator
from rtsim.cli.terminal.options import make_run
from rtsim.config.runs.run_schema import MarkerCheck, RunConfig, Solver
from rtsim.errors import ConfigError
from rtsim.live.processes.requests import PlayerRequest, encoded, estimator_request, player_request

STREAM = "tcp://127.0.0.1:1"
CONFIG = """
name = "mine"
source = "tcp://127.0.0.1:1"
subject = "walker"
method = "ball"
methods = ["ball", "free"]
side = "left"
backlog = 3
duration_s = 5.0
[solver]
max_iterations = 7
[markers]
downweight = false
unknown_mm = 80.0
[ports]
results = "tcp://127.0.0.1:7001"
control = "tcp://127.0.0.1:7002"
"""


@pytest.fixture
def config(tmp_path) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(CONFIG)
    return str(path)


def received(run: RunConfig, *, loop: bool = False) -> RunConfig:
    """The run that the estimator of `rtsim live` is told of."""
    asked = asked_of_estimator(run, STREAM, recorded=False, loop=loop, notes=(), anyway=False)
    return estimator_request(encoded(asked)).run


def test_a_run_without_options_is_the_default():
    """Protects `rtsim live`."""
    assert make_run() == RunConfig(name="live")


def test_options_come_before_the_config(config):
    """Protects the order: the command line, then the config, then the defaults."""
    run = make_run(config, method="zero", results="tcp://127.0.0.1:1", side=None)
    assert (run.method, run.side, run.subject, run.model) == ("zero", "left", "walker", "lower_limb")
    assert run.methods == ("zero", "ball", "free")
    assert (run.ports.results, run.ports.control) == ("tcp://127.0.0.1:1", "tcp://127.0.0.1:7002")
    assert run.solver == Solver(max_iterations=7)


@pytest.mark.parametrize(
    "options", [{}, {"method": "hinge", "duration_s": 0.0}, {"side": "right", "subject": "x"}]
)
def test_the_estimators_process_is_told_the_whole_run(config, options):
    """Protects run configs: solver, marker checks, backlog and methods reach the process that uses them."""
    run = make_run(config, **options)
    assert received(run) == run
    assert received(run).markers == MarkerCheck(downweight=False, unknown_mm=80.0)


def test_a_run_without_config_is_told_too():
    """Protects plain options on their way to the estimator."""
    run = make_run(source="a.trc", static="b.trc", lab="bmc", method="free", duration_s=3.0)
    assert received(run) == run


def test_the_walker_ends_by_itself(config):
    """Protects its last frames: its length is its player's, only an endless one is stopped by the clock."""
    run = make_run(duration_s=2.0)
    assert received(run).duration_s == 0.0
    assert received(run, loop=True).duration_s == 2.0


@pytest.mark.parametrize("duration", [-1.0, float("nan"), float("inf"), 1e9])
def test_a_duration_that_is_none_is_refused(duration):
    """Protects the loop's clock."""
    with pytest.raises(ConfigError, match=r"--duration: .*allowed: 0 \(until the end\)"):
        make_run(duration_s=duration)


def test_the_wait_for_forces_reaches_the_estimator():
    """Protects --wait-ms: it goes over the run config's, and to the process that waits."""
    run = make_run(wait_ms=35.0, forces="tcp://127.0.0.1:1")
    assert run.plates.wait_ms == 35.0
    assert received(run).plates.wait_ms == 35.0


def test_named_feet_and_a_wait_are_both_kept():
    """Protects the wait from the feet: both are told of plates, and neither undoes the other."""
    run = make_run(wait_ms=35.0, feet="a, b", forces="tcp://127.0.0.1:1")
    assert (run.plates.wait_ms, run.plates.feet) == (35.0, ("a", "b"))
    assert received(run).plates == run.plates


def test_a_wait_that_is_no_number_is_refused():
    """Protects from a traceback: NaN lies in no range, and not outside of one."""
    with pytest.raises(ConfigError, match=r"plates\.wait_ms: nan is out of range"):
        make_run(wait_ms=float("nan"), forces="tcp://127.0.0.1:1")


@pytest.mark.parametrize(
    ("option", "given"),
    [("--feet", {"feet": "a"}), ("--wait-ms", {"wait_ms": 5.0}), ("--mass", {"mass_kg": 70.0})],
)
def test_options_of_plates_need_plates(tmp_path, option, given):
    """Protects who forgot --forces: an option without effect is told; plates may be in a C3D file."""
    with pytest.raises(
        ConfigError, match=f"{option}: the option applies only to a run with force plates.*give --forces"
    ):
        make_run(source="walk.trc", **given)
    make_run(source="walk.c3d", **given)
    config = tmp_path / "mine.toml"
    config.write_text('name = "mine"\nmass_kg = 70.0\n[plates]\nfeet = ["a"]\n')
    run = make_run(str(config))
    assert received(run) == run


SUBJECT = ("--subject", "walker")


@pytest.mark.parametrize(
    "given", ["1", "2:1", "1:1", "a:b", "nan:1", "0:inf", "1:2:3", ":", ""],
)  # fmt: skip
def test_a_tare_that_is_no_range_is_refused(refused, given):
    """Protects from taring by accident: one sentence with what is allowed."""
    said = refused("analyse", "walker", "--forces", "walker", "--tare", given)
    assert "--tare" in said
    assert "START:STOP in seconds" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("analyse", "walker", "--tare", "0:1"), "the option applies only to a run with force plates"),
        (("live", "--tare", "0:1"), "the option applies only to a run with force plates"),
        (("live", "--source", STREAM, "--forces", STREAM, "--tare", "0:1", *SUBJECT), "command tare"),
        (("estimate", "--markers", STREAM, "--forces", STREAM, "--tare=0:1", *SUBJECT), "command tare"),
        (("replay", "walker", "--tare", "0:1"), "no force plates to tare"),
        (("replay", "walker", "--duration=2", "--forces", "walker", "--tare=50:60"), "allowed: 0 to 1.99 s"),
    ],
)  # fmt: skip
def test_a_tare_without_effect_is_refused(refused, arguments, words):
    """Protects who gives seconds of a recording where there is none, or no plates in it."""
    assert words in refused(*arguments)


def played(run: RunConfig) -> RunConfig:
    """The run that the player of `rtsim live` is told of."""
    return player_request(encoded(PlayerRequest(run=run))).run


def test_the_tare_of_a_run_reaches_its_player(tmp_path):
    """Protects the key of a run config and the option over it: seconds for the player, to the last digit."""
    config = tmp_path / "mine.toml"
    config.write_text('name = "mine"\nsource = "walker"\nforces = "walker"\n[plates]\ntare = [0, 0.1]\n')
    assert played(make_run(str(config))).plates.tare == (0.0, 0.1)
    over = make_run(str(config), tare=(-0.25, 1 / 3))
    assert played(over).plates.tare == (-0.25, 1 / 3)
    assert played(make_run()).plates.tare is None
    config.write_text('name = "mine"\n[plates]\ntare = [2.0, 1.0]\n')
    with pytest.raises(ConfigError, match=r"tare.*start first"):
        make_run(str(config))


def test_the_walkers_plate_and_mass_are_nobody_elses():
    """Protects a person under a config of the walker from 72 kg, and his own plates from those made up."""
    assert (make_run("knee_fdk").forces, make_run("knee_fdk").mass_kg) == ("walker", 72.0)
    own = make_run("knee_fdk", source="walk.c3d")
    assert (own.forces, own.mass_kg, own.model) == ("", 0.0, "knee_fdk")
    given = make_run("knee_fdk", source="walk.trc", forces="grf.mot", mass_kg=65.0)
    assert (given.forces, given.mass_kg) == ("grf.mot", 65.0)
    assert received(own).mass_kg == 0.0


@pytest.mark.parametrize("source", ["", 'source = "walker"', 'source = "walk.c3d"'])
def test_a_stream_is_of_its_own_person_whatever_the_config(tmp_path, source):
    """Protects a wearer from the walker's skeleton: the stream is the source, of the person in --static."""
    (tmp_path / "mine.toml").write_text(f'name = "mine"\n{source}\nforces = "walker"\n')
    options = {"config": str(tmp_path / "mine.toml"), "choices": (), "source": None, "tare": None}
    run, address = run_and_markers(STREAM, {**options, "static": "anna.c3d", "forces": ""})
    assert (address, run.source, run.static, run.forces) == (STREAM, STREAM, "anna.c3d", "")
    given, _ = run_and_markers(STREAM, {**options, "source": "walker", "forces": ""})
    assert given.source == "walker"


def test_the_relayed_system_of_a_config_keeps_its_name(tmp_path):
    """Protects what users know their cameras by: a capture system stays the source of its relayed stream."""
    (tmp_path / "mine.toml").write_text('name = "mine"\nsource = "qtm://cameras"\nsubject = "walker"\n')
    options = {"config": str(tmp_path / "mine.toml"), "choices": (), "source": None, "tare": None}
    run, address = run_and_markers(STREAM, options)
    assert (run.source, address) == ("qtm://cameras", STREAM)
