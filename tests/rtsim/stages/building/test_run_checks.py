"""What a run asks of muscles and joints is held against its model before anything is compiled."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from rtsim.cli.main import cli
from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.models.load import load_model
from rtsim.stages.building.run_checks import check_run
from tests.rtsim.models import legs

BALANCED = {"stages": ["kinematics", "fdk"]}
OF_PERSON = ["kinematics", "rates", "plates", "inverse_dynamics", "fdk"]
STAGES = 'stages = ["kinematics", "fdk"]\n'
JOINT = {"point": "left_normal", "contacts": ["left_medial"], "takes": {"midline": "negative"}}


def asked(model: str, *, forces: bool = True, of_model: bool = True, **keys: object) -> None:
    """Check a run with these keys."""
    run = msgspec.convert({"name": "asked", "model": model, **keys}, RunConfig)
    check_run(run, load_model(model), of_model=of_model, forces=forces)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"recruitment": {"reserves": {"knee": 20.0}}}, r"reserves: unknown coordinate 'knee'.*knee_r"),
        ({"recruitment": {}, "forces": False}, "give --forces"),
        ({"recruitment": {}, "stages": ["kinematics"]}, 'add "recruitment" to stages'),
        (
            {"stages": ["kinematics", "recruitment"]},
            "'recruitment' needs the stage 'inverse_dynamics' before it",
        ),
        ({"fdk": {"dofs": ["knee"]}}, r"fdk: the table has no effect.*\"kinematics\", \"fdk\""),
        (
            {"fdk": {"dofs": ["knee"]}, **BALANCED},
            r"fdk.dofs: 'knee' names no constraint of the method",
        ),
        (
            {"fdk": {"dofs": ["knee_r"], "start_mm": {"knee_r": 1.0}}, **BALANCED},
            "fdk.start_mm: the FDK degree of freedom knee_r is an angle; give its start value in fdk",
        ),
    ],
)
def test_what_cannot_be_is_told_at_once(keys: dict[str, object], words: str, tmp_path: Path) -> None:
    """Protects a minute of compiling from a wrong name, and a table from being ignored in silence."""
    with pytest.raises(ConfigError, match=words):
        asked(str(legs.write_model(tmp_path)), **keys)


def test_what_can_be_is_no_matter(tmp_path: Path) -> None:
    """Protects right runs: coordinates by their names, a balance without a table, the shipped jaw."""
    dofs = ["right_normal", "left_normal", "midline"]
    refused: list[str] = []
    for model, keys in (
        (str(legs.write_model(tmp_path)), {"recruitment": {"reserves": {"knee_r": 20.0}}}),
        ("mandible", {"forces": False, "method": "pop", "recruitment": {"power": 2}, **BALANCED}),
        ("mandible", {"method": "pop", "fdk": {"dofs": dofs, "joints": {"left": JOINT}}, **BALANCED}),
        ("mandible", {"method": "free", "fdk": {"dofs": ["elevation", "shift"]}, **BALANCED}),
    ):
        try:
            asked(model, **keys)
        except ConfigError as fault:
            refused.append(str(fault))
    assert refused == []


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"fdk": {"dofs": ["anteror"]}}, "'anteror' names no constraint.*allowed: medial, lateral"),
        ({"fdk": {"borne": ["foo"]}}, "unknown body 'foo'; allowed: pelvis, thigh, shank, foot"),
        ({"fdk": {"joints": {"medial": {**JOINT, "point": "medal"}}}}, "medial.point: unknown 'medal'"),
        (
            {"recruitment": {"reserves": {"thigh_turn_q": 100.0}}},
            "unknown coordinate 'thigh_turn_q'.*thigh_turn_x",
        ),
        ({"stages": ["kinematics", "fdk"]}, "needs inverse dynamics before it.*give --forces and --mass"),
        ({"stages": [*OF_PERSON, "recruitment"], "recruitment": {}}, 'put "fdk" in place of'),
        ({"forces": False}, "stages of this run need force plates.*give --forces"),
    ],
)
def test_a_persons_balance_is_looked_at_as_well(keys: dict[str, object], words: str) -> None:
    """Protects `rtsim check`, and patience: such names were told after a minute, by a run alone."""
    rest = {"method": "condyles", "stages": OF_PERSON}
    asked("knee_fdk", of_model=False, **rest)
    with pytest.raises(ConfigError, match=words):
        asked("knee_fdk", of_model=False, **{**rest, **keys})


@pytest.mark.parametrize("key", ["point", "contacts", "takes"])
def test_joints_name_what_is_there(key: str) -> None:
    """Protects the table of joints: a wrong element or contact is told with those there are."""
    wrong = {"point": "leftt", "contacts": ["leftt"], "takes": {"leftt": "negative"}}
    fdk = {"dofs": ["right_normal"], "joints": {"left": {**JOINT, key: wrong[key]}}}
    words = rf"fdk.joints.left.{key}: unknown 'leftt'; allowed: .*(left|midline)"
    with pytest.raises(ConfigError, match=words):
        asked("mandible", method="pop", fdk=fdk, **BALANCED)


def with_element(folder: Path, lines: str) -> str:
    """The shipped jaw whose method `free` holds one more element between the mandible and the skull."""
    text = find_config("mandible", "models").read_text()
    element = f'[[elements]]\nname = "more"\na = {{ segment = "mandible" }}\n{lines}'
    text = text.replace("[methods.free]", '[methods.free]\nhard = ["more"]').replace(
        "[[reactions]]", f"{element}\n[[reactions]]", 1
    )
    (folder / "more.toml").write_text(text)
    return str(folder / "more.toml")


TILTED = 'kind = "plane"\nb = { segment = "skull" }\nnormal = [0.0, 0.6, 0.8]\n'
CORD = 'kind = "distance"\nb = { segment = "skull", offset_mm = [0.0, 90.0, 0.0] }\ntarget_mm = 90.0\n'


def test_what_is_held_twice_is_told_at_once(tmp_path: Path) -> None:
    """Protects from a run without an answer in any frame: a coordinate that held elements fix as well."""
    more = with_element(tmp_path, TILTED)
    for model, method, dofs, words in (
        ("mandible", "pop", ["shift"], "shift is fixed already by midline, which"),
        (more, "free", ["elevation", "shift"], "elevation is fixed already by more, shift, which"),
    ):
        with pytest.raises(ConfigError, match=words):
            asked(model, method=method, fdk={"dofs": dofs}, **BALANCED)
    asked(more, method="free", fdk={"dofs": ["elevation", "protrusion"]}, **BALANCED)


def test_a_jaw_on_ground_is_told_what_bears_the_load(tmp_path: Path) -> None:
    """Protects models of one part: the joint to ground takes what is left, unless the settings name it, so
    that none is left at which what the elements hold could be balanced."""
    text = find_config("mandible", "models").read_text()
    skull, jaw = text.index('[[bodies]]\nname = "skull"'), text.index('[[bodies]]\nname = "mandible"')
    text = (text[:skull] + text[jaw:]).replace('parent = "skull"\n', "")
    text = text.replace('\nsegment = "skull"', '\nsegment = "mandible"').replace('"skull"', '"ground"')
    path = tmp_path / "jaw.toml"
    path.write_text(text)
    dofs = ["right_normal", "left_normal", "midline"]
    for method, held in (("pop", dofs), ("pop", []), ("free", ["elevation", "shift"])):
        with pytest.raises(ConfigError, match=r"fdk.borne: the method has \d constraint.*name.* mandible if"):
            asked(str(path), method=method, fdk={"dofs": held}, **BALANCED)
        asked(str(path), method=method, fdk={"dofs": held, "borne": ["mandible"]}, **BALANCED)


def test_coordinates_that_are_allowed_can_be_taken() -> None:
    """Protects from a remedy that is refused next: all coordinates of the jaw, elements first."""
    words = (
        "allowed: right_normal, left_normal, midline, protrusion, elevation, shift, opening, deviation, cant"
    )
    with pytest.raises(ConfigError, match=words):
        asked("mandible", method="pop", fdk={"dofs": ["elevatoin"]}, **BALANCED)


def test_a_joint_takes_no_length(tmp_path: Path) -> None:
    """Protects from a force of 0: a length has no normal along which it would count."""
    joints = {"left": {**JOINT, "takes": {"more": "negative"}}}
    with pytest.raises(ConfigError, match=r"fdk.joints.left.takes: unknown 'more'; allowed: none"):
        asked(with_element(tmp_path, CORD), method="free", fdk={"joints": joints}, **BALANCED)
    asked(with_element(tmp_path, TILTED), method="free", fdk={"joints": joints}, **BALANCED)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"recruitment": {"criterion": "min_max", "power": 5}}, "min_max does not use a power"),
        ({"fdk": {"dofs": ["midline", "midline"]}}, "dofs: 'midline'"),
        ({"fdk": {"dofs": ["cant"], "drivers": ["cant"]}}, "dofs: 'cant' is also listed in drivers"),
        (
            {"fdk": {"joints": {"left": {**JOINT, "contacts": 2 * ["left_medial"]}}}},
            "contacts: 'left_medial'",
        ),
        ({"fdk": {"joints": {"le\tft": JOINT}}}, "joints: .*ft"),
        ({"fdk": {"difference_mm": 0.1}}, "difference_mm is used only with jacobian"),
    ],
)
def test_no_number_is_counted_twice_or_in_vain(keys: dict[str, object], words: str) -> None:
    """Protects forces from being added up twice, and from numbers that do nothing."""
    with pytest.raises(msgspec.ValidationError, match=words):
        msgspec.convert({"name": "x", **keys}, RunConfig)


def test_the_command_compiles_nothing_for_a_wrong_name(tmp_path: Path, monkeypatch) -> None:
    """Protects the way from a config to the first sentence: `analyse` ends before the kernels."""
    spec = legs.load(tmp_path)
    config = tmp_path / "run.toml"
    config.write_text('name = "x"\n[recruitment]\nreserves = { knee = 20.0 }\n')

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("rtsim.cli.terminal.compiling.compile_first", never)
    options = ["--model", tmp_path / "legs.toml", "--forces", legs.write_plates(tmp_path), "--config", config]
    found = CliRunner().invoke(cli, ["analyse", str(legs.write_trial(tmp_path, spec)), *map(str, options)])
    assert isinstance(found.exception, ConfigError)
    assert "unknown coordinate 'knee'" in str(found.exception)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (f'model = "mandible"\n{STAGES}[fdk]\ndofs = ["leftt"]\n', "'leftt' names no constraint"),
        ('stages = ["kinematics", "fdc"]\n', "unknown stage 'fdc'"),
    ],
)
def test_check_tells_it_too(keys: str, words: str, tmp_path: Path) -> None:
    """Protects who asks `rtsim check` first: a run config with a wrong name is not right."""
    path = tmp_path / "run.toml"
    path.write_text(f'name = "x"\n{keys}')
    found = CliRunner().invoke(cli, ["check", str(path)])
    assert found.exit_code == 1
    assert words in found.output
