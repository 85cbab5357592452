"""How many files something new touches: names stand where docs/architecture.md says, and nowhere else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import kernels.contact.geometries
import kernels.contact.pressure
import kernels.forces.friction
import kernels.joints.kinds
from rtsim.config.contact_geometries import GEOMETRIES
from rtsim.config.joint_kinds import KINDS
from rtsim.config.models.friction_laws import Friction
from rtsim.config.models.pressure_laws import Pressure
from tests.syntax_trees import syntax_trees

ROOT = Path(__file__).parents[1]
SOURCES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for package in ("kernels", "streams", "rtsim")
    for path in (ROOT / package).rglob("*.py")
}
TESTS = sorted((ROOT / "tests").rglob("*.py"))
FRICTION = {"kernels/forces/friction.py", "rtsim/config/models/friction_laws.py"}
PRESSURE = {"kernels/contact/pressure.py", "rtsim/config/models/pressure_laws.py"}
EXPERIMENTS = {
    "rtsim/bench/mechanics/friction.py",
    "rtsim/bench/mechanics/friction_reference.py",
    "rtsim/papers/paper_001/friction_figures.py",
}
"""They compare four laws with their own references, or with the paper that has them."""
TORQUES = {"kernels/contact/patch_torques.py"}
"""Of the ellipsoid's patch: a second file of that kind."""
READERS = {f"rtsim/files/osim/{name}.py" for name in ("joints", "bodies", "scaled")}
"""They know OpenSim's name of a joint, and what becomes of it."""

OSIM_FUNCTIONS = {"rtsim/files/osim/functions.py"}


def files_with(words: Iterable[str]) -> set[str]:
    """Return the files in which one of these words stands, in capitals or not."""
    pattern = re.compile(rf"\b({'|'.join(words)})\b", re.IGNORECASE)
    return {name for name, text in SOURCES.items() if pattern.search(text)}


def laws(record: type) -> tuple[str, ...]:
    """Return the names of laws that a record of a model's file knows."""
    return get_args(get_type_hints(record)["law"])


@pytest.mark.parametrize("law", ["andersson", "hollars", "specker", "bengisu_akay"])
def test_a_friction_law_touches_two_files(law: str) -> None:
    """Protects the count of a friction law; `brown_mcphee` is also that of the foot."""
    assert law in laws(Friction)
    assert files_with([law]) - EXPERIMENTS == FRICTION


@pytest.mark.parametrize("law", ["kelvin_voigt", "hunt_crossley"])
def test_a_pressure_law_touches_two_files(law: str) -> None:
    """Protects the count of a pressure law; the others' names are common words."""
    assert law in laws(Pressure)
    assert files_with([law]) == PRESSURE


@pytest.mark.parametrize("name", GEOMETRIES)
def test_a_contact_geometry_touches_three_files(name: str) -> None:
    """Protects the count of a geometry, the keys of its surfaces with it where they are its own."""
    found = files_with([name, *(key for key in GEOMETRIES[name].surfaces if "_" in key)])
    assert found - TORQUES == {
        f"kernels/contact/{name}.py",
        "kernels/contact/geometries.py",
        f"rtsim/config/contact_geometries/{name}.py",
    }


@pytest.mark.parametrize("kind", ["ellipsoidal"])
def test_a_joint_kind_touches_three_files(kind: str) -> None:
    """Protects the count of a kind with a manifold of its own; the others' names are common words."""
    assert kind in KINDS
    assert files_with([kind]) - READERS == {
        f"kernels/joints/{kind}.py",
        "kernels/joints/kinds.py",
        f"rtsim/config/joint_kinds/{kind}.py",
    }


def test_nobody_else_asks_for_a_joint_kind() -> None:
    """Protects that count: what is no chain is known to the switch list alone, and to benches' models."""
    constants = {kind.upper() for kind, row in KINDS.items() if row.steps is None}
    for name, text in SOURCES.items():
        found = re.findall(r"^from kernels\.joints\.kinds import (\([^)]*\)|.*)", text, re.MULTILINE)
        named = constants & set(re.findall(r"\w+", " ".join(found)))
        assert not named or name.startswith("rtsim/bench/"), (name, named)


def test_a_live_stage_touches_one_file() -> None:
    """Protects the count of a stage with results of its own: found by folder, its quantity declared there."""
    assert files_with(["centre_of_mass", "CentreOfMass"]) == {"rtsim/stages/centre_of_mass.py"}


def named_in(pattern: str) -> set[str]:
    """Return the files in which this pattern is found, in these capitals; benches aside."""
    return {name for name, text in SOURCES.items() if re.search(pattern, text) and "/bench/" not in name}


def test_a_function_of_a_coordinate_touches_six_files() -> None:
    """Protects the count of a function: its constant, its key and its record, beside OpenSim's name of it."""
    assert named_in(r"\bSINE\b|\.sine\b|\bsine: |, \"sine\"\)") - OSIM_FUNCTIONS == {
        "kernels/algebra/functions.py",
        "kernels/dynamics/third_derivative.py",
        "rtsim/config/models/function_schema.py",
        "rtsim/models/packing/tree.py",
        "rtsim/models/packing/functions.py",
        "rtsim/models/scaling.py",
    }


def test_a_filter_of_rates_touches_four_files() -> None:
    """Protects the count of a filter; the other one is also what smooths a whole recording."""
    assert named_in(r"savitzky_golay|SavitzkyGolay") == {
        "kernels/rates/savitzky_golay.py",
        "rtsim/config/runs/rate_schema.py",
        "rtsim/methods/kinematics/rates.py",
        "rtsim/live/compiled/group_kernels.py",
    }


@pytest.mark.parametrize("system", ["natnet"])
def test_a_capture_system_touches_its_module_and_its_messages(system: str) -> None:
    """Protects the count of a capture system: its module, found by folder, and its messages."""
    found = {name for name in files_with([system]) if "/bench/" not in name}
    assert f"streams/capture/systems/{system}.py" in found
    others = {name for name in found if not name.startswith(f"streams/capture/{system}/")}
    assert others - {"streams/capture/byte_reader.py"} == {f"streams/capture/systems/{system}.py"}


@pytest.mark.parametrize(
    ("pattern", "module"),
    [
        (r"cortex_forces|\"\.forces\"", "rtsim/files/forces/cortex_forces.py"),
        (r"read_zebris|\.apd\b", "rtsim/files/pressure/zebris.py"),
        (r"read_tekscan|\.asf\b", "rtsim/files/pressure/tekscan.py"),
    ],
)
def test_a_file_format_touches_two_files(pattern: str, module: str) -> None:
    """Protects the count of a format: its module, and its row in the table that checks and helps read."""
    assert named_in(pattern) == {module, "rtsim/files/formats.py"}


MOST_ARGUMENTS = 10


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    """The tree of every module of the installed packages, by its path."""
    return syntax_trees("kernels", "streams", "rtsim")


def test_no_function_takes_too_many_arguments(trees: dict[str, ast.Module]) -> None:
    """Protects readers of rtsim and streams, as tests of docstrings do those of kernels; the parameters of a
    command are its options."""
    found = {}
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and not any(
                "click" in ast.unparse(m) for m in node.decorator_list
            ):
                own = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
                if len([arg for arg in own if arg not in ("self", "cls")]) > MOST_ARGUMENTS:
                    found[name] = node.name
    assert found == {}


def test_every_name_in_a_model_file_has_its_kernel() -> None:
    """Protects packing, which finds a kind's number by its name: all are there, and each is another one."""
    for module, names in (
        (kernels.forces.friction, laws(Friction)),
        (kernels.contact.pressure, laws(Pressure)),
        (kernels.contact.geometries, tuple(GEOMETRIES)),
        (kernels.joints.kinds, ("chain", *(kind for kind, row in KINDS.items() if row.steps is None))),
    ):
        numbers = [getattr(module, name.upper()) for name in names]
        assert sorted(numbers) == list(range(len(names)))


def test_nothing_of_ours_is_renamed_on_import() -> None:
    """Protects one name for one thing: what is ours has its own name wherever it is imported."""
    for name, text in SOURCES.items():
        lines = re.findall(r"^ *(?:from|import) (?:kernels|streams|rtsim)\b.*", text, re.MULTILINE)
        assert [line for line in lines if " as " in line] == [], name


def test_files_that_the_architecture_names_exist() -> None:
    """Protects the list of where things go against files that have moved."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:kernels|streams|rtsim|tests|configs|docs)/[\w/]+\.\w+)`", text)
    paths = [path for path in named if path.endswith((".py", ".md", ".toml"))]
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


LONGEST_MODULE = 400


def test_no_module_is_too_long() -> None:
    """Protects readers: a module is one idea, and what grows beyond this is two."""
    n_line = {name: len(text.splitlines()) for name, text in SOURCES.items()}
    assert {name: n for name, n in n_line.items() if n > LONGEST_MODULE} == {}


MOST_BY_PLACE = 5
"""Arguments by their place that whoever reads a call can still tell apart."""


def records(trees: dict[str, ast.Module]) -> dict[str, int]:
    """Of all classes with annotated fields: their names, and how many fields they have."""
    nodes = (node for tree in trees.values() for node in ast.walk(tree))
    classes = (node for node in nodes if isinstance(node, ast.ClassDef))
    n_field = {node.name: sum(isinstance(line, ast.AnnAssign) for line in node.body) for node in classes}
    return {name: n for name, n in n_field.items() if n}


def test_records_of_many_fields_are_made_by_name(trees: dict[str, ast.Module]) -> None:
    """Protects results: a field that is added or moved shifts no others in silence."""
    names, found = records(trees), []
    assert "FdkWork" in names
    for module, tree in trees.items():
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] in names:
                name = ast.unparse(call.func).split(".")[-1]
                starred = any(isinstance(argument, ast.Starred) for argument in call.args)
                if (names[name] if starred else len(call.args)) > MOST_BY_PLACE:
                    found.append(f"{module}:{call.lineno} {name}")
    assert found == []


def test_working_spaces_of_kernels_are_allocated_by_their_shapes(trees: dict[str, ast.Module]) -> None:
    """Protects working spaces: no record of kernels is filled with new arrays by hand."""
    names, found = records(trees), []
    for module, tree in trees.items():
        for call in ast.walk(tree) if module.startswith("kernels/") else ():
            if isinstance(call, ast.Call) and ast.unparse(call.func) in names:
                made = [ast.unparse(argument) for argument in call.args]
                if any(re.match(r"np\.(zeros|empty|ones|full)\b", text) for text in made):
                    found.append(f"{module}:{call.lineno}")
    assert found == []


def test_no_kernel_is_named_by_a_text(trees: dict[str, ast.Module]) -> None:
    """Protects the list of groups: kernels stand there themselves, and a renamed one is missed at once."""
    found = []
    for name, tree in trees.items():
        nodes = ast.walk(tree) if name.startswith("rtsim/") else ()
        texts = [str(node.value) for node in nodes if isinstance(node, ast.Constant)]
        found += [(name, text) for text in texts if re.fullmatch(r"kernels(\.\w+){2,}", text)]
    assert found == []


ALIAS = re.compile(r"^\s*(?:from \S+ )?import .*?\b(\w+) as (\w+)", re.MULTILINE)
CUSTOMARY = {"np", "st", "hnp", "pg"}
"""Aliases that everybody knows: of NumPy, Hypothesis and PyQtGraph."""


def test_no_name_needs_an_alias() -> None:
    """Protects names: one that has to be changed on import is the wrong one."""
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in TESTS} | SOURCES
    found = {name: [alias for _, alias in ALIAS.findall(text)] for name, text in texts.items()}
    assert {name: a for name, aliases in found.items() if (a := set(aliases) - CUSTOMARY)} == {}
