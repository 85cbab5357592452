"""`rtsim tune --auto` and `--validate` on the command line: kept files, figures, typed answers, mistakes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from rtsim.cli.main import cli
from rtsim.cli.runs import tuned
from rtsim.cli.runs.tune_options import Asking
from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.errors import ConfigError
from rtsim.tuning.drive import Drive
from rtsim.tuning.kept import KeptTuning, TuningTrial, read_kept, write_kept
from rtsim.tuning.offline import OfflineRuns, RunCost, RunRequest
from rtsim.tuning.problem import Parameters, parameters_of

SEARCH = ("tune", "ankle", "--auto", "bayesian", "--offline", "--seed", "1")


@pytest.mark.process
def test_a_tuning_is_kept_gone_on_with_drawn_and_validated(
    rtsim: Callable, here: Callable, tmp_path: Path
) -> None:
    """Protects the whole way offline: costs of two processes are those of one, the file grows, the tuned
    setting is told apart from zero torque."""
    pytest.importorskip("PySide6")
    file, figure = tmp_path / "tuning.json", tmp_path / "landscape.svg"
    done = rtsim(*SEARCH, "--budget", "6", "--processes", "2", "--file", file)
    assert done.code == 0, done.err
    first = read_kept(file)
    assert first.n_tried == 6
    runs = OfflineRuns(load_toml(find_config("ankle", "hil"), HilSpec), seed=1)
    assert runs.cost(RunRequest(first.trials[5].settings[0])).value == first.trials[5].costs[0]
    done = here(*SEARCH, "--budget", "8", "--processes", "1", "--file", file, "--plot", figure)
    assert done.code == 0, done.err
    assert "continuing after 6 settings" in done.err
    assert "best of 8 settings: neutral_deg" in done.out
    assert read_kept(file).trials[:6] == first.trials
    assert "neutral_deg" in figure.read_text(encoding="utf-8")
    done = here(
        "tune", "ankle", "--validate", "--offline", "--file", file, "--blocks", "2", "--processes", "1"
    )
    assert done.code == 0, done.err
    assert done.out.count("against") == 3
    assert "tuned against zero torque: -" in done.out
    done = here(*SEARCH, "--budget", "8", "--file", file, "--cost", "joint_angles.ankle:peak")
    assert done.code == 1
    assert "but the options have 'peak(joint_angles.ankle)'" in done.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--offline",), "add --auto METHOD or --validate"),
        (("ankle",), "add --auto METHOD or --validate"),
        (("--auto", "cma"), "name a config"),
        (("ankle", "--auto", "cma", "--undo"), "cannot be combined"),
        (("ankle", "--auto", "cma", "--validate"), "cannot be combined"),
        (
            ("ankle", "--auto", "bayesian", "--offline", "--operator"),
            "an operator can judge runs with the device only",
        ),
        (
            ("ankle", "--auto", "dial", "--offline"),
            "with dial an operator sets the parameters by hand on the running device",
        ),
        (
            ("ankle", "--auto", "bayesian", "--processes", "2"),
            "only with --offline can several settings be tried",
        ),
        (("ankle", "--validate", "--offline"), "needs --file"),
        (("ankle", "--auto", "bayesian", "--offline", "--cost", "joint_angles:most"), "reduction"),
        (("ankle", "--auto", "bayesian", "--offline", "--over", "2"), "running model"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    here: Callable, options: tuple[str, ...], words: str
) -> None:
    """Protects whoever types them: one sentence before anything slow, and nothing is set."""
    done = here("tune", *options)
    assert done.code == 1
    assert words in done.err


def test_a_field_that_is_not_published_is_told(here: Callable) -> None:
    """Protects costs: a wrong name is refused with those there are, before a search begins."""
    done = here(*SEARCH, "--processes", "1", "--cost", "joint_angels.ankle")
    assert done.code == 1
    assert "joint_angels" in done.err
    assert "joint_angles" in done.err


def test_typed_answers_are_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the operator's word: a number is a cost, the letter of a pair the one that is better."""
    parameters = Parameters(("stiffness",), np.array([0.0]), np.array([40.0]))
    settings = [{"stiffness": 10.0}, {"stiffness": 20.0}]

    def costs(answers: list, pairwise: bool) -> list[float]:
        left = iter(answers)
        monkeypatch.setattr(click, "prompt", lambda *words, **options: next(left))
        nothing = iter([RunCost(0.0)] * 2)
        return [cost.value for cost in tuned.judged(settings, lambda s, n: nothing, parameters, pairwise)]

    assert costs([3.5, 2.0], False) == [3.5, 2.0]
    assert costs(["A"], True) == [0.0, 1.0]
    assert costs(["B"], True) == [1.0, 0.0]
    assert costs(["="], True) == [0.0, 0.0]
    monkeypatch.setattr(click, "prompt", lambda *words, **options: 10.0)
    assert tuned.turned(parameters).tolist() == [0.25]


def test_every_method_is_made() -> None:
    """Protects the list of methods: each that the command offers is a search."""
    pytest.importorskip("cmaes")
    parameters = Parameters(("a", "b"), np.zeros(2), np.ones(2))
    offered = next(p.type.choices for p in cli.get_command(None, "tune").params if p.name == "auto")  # type: ignore
    for method in offered:
        kept = KeptTuning(config="mine", method=method, seed=0, parameters={}, cost="")
        search = tuned.searches(parameters, Asking(method, False, False, 10, 0, None, 6), kept)
        assert search.at_once >= 1


def test_the_best_setting_of_another_config_is_not_validated(here: Callable, tmp_path: Path) -> None:
    """Protects a comparison: a spline tuned for another leg has the same names of parameters."""
    file = tmp_path / "tuning.json"
    best = {"neutral_deg": 5.0, "stiffness_N_m_rad": 20.0}
    write_kept(file, KeptTuning(config="mine", method="cma", seed=0, parameters={}, cost="", best=best))
    done = here("tune", "ankle", "--validate", "--offline", "--file", file, "--processes", "1")
    assert done.code == 1
    assert "the best setting in the file was found with the config mine, and this is ankle" in done.err


@pytest.mark.parametrize("how", [("--validate",), ("--auto", "cma")], ids=["validate", "auto"])
def test_a_file_of_another_config_is_refused_before_the_run_gets_a_command(
    here: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: tuple[str, ...]
) -> None:
    """Protects a person on the device: of a file that does not fit, the run hears nothing, no snapshot
    either."""
    file = tmp_path / "tuning.json"
    write_kept(file, KeptTuning(config="mine", method="cma", seed=0, parameters={}, cost=""))

    def reached(*given: object) -> None:
        raise AssertionError("the run was reached")

    monkeypatch.setattr(tuned, "LiveRuns", reached)
    done = here("tune", "ankle", *how, "--file", file)
    assert done.code == 1
    assert str(file) in done.err
    assert "mine" in done.err


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ("tuning.settle_s", 0.7, "tuning.settle_s = 0.2, but now it is 0.7"),
        ("tuning.repeats", 3, "tuning.repeats = 1, but now it is 3"),
        ("tuning.cycle", {"period_s": 1.0}, "tuning.cycle.period_s = 1.25, but now it is 1.0"),
        ("tuning.costs.0.target", [5.0], r"tuning.costs.0.target = \[4.0\], but now it is \[5.0\]"),
        ("limits.ramp_s", 2.0, "limits.ramp_s = 1.0, but now it is 2.0"),
        ("misalignment", {"offset_mm": [1, 0, 0], "cuff_mm": [0, -9, 0]}, "misalignment.* = nothing, but"),
        ("device", "knee_brace", "device = ankle_orthosis, but now it is knee_brace"),
    ],
)
def test_a_search_is_not_gone_on_with_under_another_cost(
    tmp_path: Path, place: str, value: object, words: str
) -> None:
    """Protects a search: costs of other cycles or settings are not mixed with those in its file."""
    asking = Asking("cma", True, False, 10, 0, tmp_path / "tuning.json", 6)
    tables = msgspec.to_builtins(load_toml(find_config("ankle", "hil"), HilSpec))
    from_target = {"field": "device_commands", "reduction": "from_target", "target": [4.0]}
    tables["tuning"] |= {"costs": [from_target], "cycle": {"period_s": 1.25}}

    def again() -> KeptTuning:
        spec = msgspec.convert(tables, HilSpec)
        return tuned.begun(spec, parameters_of(spec), asking, 2)

    kept = again()
    write_kept(asking.file, kept)
    tables["tuning"]["budget"] = 90
    assert again() == kept
    *way, key = place.split(".")
    table = tables
    for name in way:
        table = table[int(name)] if name.isdigit() else table[name]
    table[key] = value
    with pytest.raises(ConfigError, match=words):
        again()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"neutral_deg": 6.0}, ""),
        ({"change_s": 0.3}, ""),
        ({"ranges": {"neutral_deg": [-10.0, 20.0], "stiffness_N_m_rad": [0.0, 40.0]}}, ""),
        ({"damping_N_m_s_rad": 0.12}, "controller.damping_N_m_s_rad = 0.1, but now it is 0.12"),
    ],
    ids=["default", "ramp", "ranges", "not tuned"],
)
def test_a_search_is_gone_on_with_from_other_defaults_of_what_is_tuned(
    tmp_path: Path, changes: dict, words: str
) -> None:
    """Protects an engineer who writes the best so far into the config: costs do not depend on it."""
    asking = Asking("cma", True, False, 10, 0, tmp_path / "tuning.json", 6)
    tables = msgspec.to_builtins(load_toml(find_config("ankle", "hil"), HilSpec))
    tables["tuning"]["parameters"] = {"neutral_deg": [-5.0, 15.0], "stiffness_N_m_rad": [0.0, 40.0]}
    spec = msgspec.convert(tables, HilSpec)
    kept = tuned.begun(spec, parameters_of(spec), asking, 2)
    write_kept(asking.file, kept)
    tables["controller"] = msgspec.to_builtins(spec.controller) | changes
    now = msgspec.convert(tables, HilSpec)
    if words:
        with pytest.raises(ConfigError, match=words):
            tuned.begun(now, parameters_of(now), asking, 2)
    else:
        assert tuned.begun(now, parameters_of(now), asking, 2) == kept


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("model", "mass_kg = 25.0", "mass_kg = 26.0"),
        ("motion", "0.1 2.0", "0.1 2.5"),
        ("device", "tick_hz = 500.0", "tick_hz = 400.0"),
    ],
)
def test_a_search_is_not_gone_on_with_under_other_content_of_a_file(
    tmp_path: Path, name: str, before: str, after: str
) -> None:
    """Protects a search in simulations: the limb, its motion or the device may change under the same name of
    a file; a comment may change."""
    asking = Asking("cma", True, False, 10, 0, tmp_path / "tuning.json", 6)
    spec = load_toml(find_config("ankle", "hil"), HilSpec)
    files = {key: tmp_path / f"{key}.toml" for key in ("model", "motion", "device")}
    texts = {
        "model": find_config(spec.model, "models").read_text(encoding="utf-8"),
        "motion": "time knee\n0.0 1.0\n0.1 2.0\n",
        "device": find_config(spec.device, "devices").read_text(encoding="utf-8"),
    }
    for key, text in texts.items():
        files[key].write_text(text, encoding="utf-8")
    spec = replace(spec, **{key: str(file) for key, file in files.items()})

    def again() -> KeptTuning:
        return tuned.begun(spec, parameters_of(spec), asking, 2)

    kept = again()
    write_kept(asking.file, kept)
    if name != "motion":
        files[name].write_text(f"{texts[name]}# no number\n", encoding="utf-8")
    assert again() == kept
    assert before in texts[name]
    files[name].write_text(texts[name].replace(before, after, 1), encoding="utf-8")
    with pytest.raises(ConfigError, match=f"the search in the file has content.{name} = "):
        again()


def test_a_file_without_settings_is_told(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Protects whoever goes on with a file of an earlier version: what is not compared is said."""
    spec = load_toml(find_config("ankle", "hil"), HilSpec)
    file = tmp_path / "tuning.json"
    asking = Asking("cma", True, False, 10, 0, file, 6)
    kept = tuned.begun(spec, parameters_of(spec), asking, 2)
    kept.settings = {}
    write_kept(file, kept)
    assert tuned.begun(spec, parameters_of(spec), asking, 2) == kept
    assert "they are not compared with those of the config" in capsys.readouterr().err


def test_a_best_setting_beyond_the_ranges_is_not_validated(here: Callable, tmp_path: Path) -> None:
    """Protects a comparison: a refused setting would leave the default one, and no effect would be found."""
    file = tmp_path / "tuning.json"
    best = {"neutral_deg": 5.0, "stiffness_N_m_rad": 45.0}
    write_kept(file, KeptTuning(config="ankle", method="cma", seed=0, parameters={}, cost="", best=best))
    done = here("tune", "ankle", "--validate", "--offline", "--file", file, "--processes", "1")
    assert done.code == 1
    assert "stiffness_N_m_rad = 45; allowed: 0 to 40" in done.err


def test_a_tuning_by_hand_is_gone_on_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the operator's trials: none is asked for again, and the next one is added to them."""
    parameters = Parameters(("stiffness",), np.array([0.0]), np.array([40.0]))
    kept = KeptTuning(config="mine", method="dial", seed=0, parameters={}, cost="")
    kept.trials = [TuningTrial([{"stiffness": 7.0}], [3.0]), TuningTrial([{"stiffness": 11.0}], [2.0])]
    before, answers = list(kept.trials), iter([20.0])
    monkeypatch.setattr(click, "prompt", lambda *words, **options: next(answers))
    search = tuned.searches(parameters, Asking("dial", False, True, 3, 0, None, 6), kept)
    best = Drive(search, parameters, lambda settings: [RunCost(5.0)], kept).run(3)
    assert kept.trials == [*before, TuningTrial([{"stiffness": 20.0}], [5.0])]
    assert best == {"stiffness": 11.0}
