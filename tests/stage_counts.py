"""Counts of what only a stage, or only the tracked model, should know: run as a script, it lists them.

python -m tests.stage_counts
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
STAGES = ROOT / "rtsim" / "stages"
COMMON_WORDS = {"muscles", "plates", "rates", "recruitment", "progression", "sagittal", "fdk"}
"""Names of stages that are words of the field, too: as strings they count where stages are asked for them."""
PERSON_OR_MODEL = {"brings_markers", "of_subject", "of_model", "of_person", "own_markers"}
"""Names by which code asks whether a person is followed, or a model with markers of its own."""
FOLLOWED = {"subject", "person"}
"""What is None where a model with its own markers is followed."""


class Mention(NamedTuple):
    """A place in the sources: the file, the line, and what stands there."""

    file: str
    line: int
    what: str


def sources() -> Iterator[tuple[Path, ast.Module]]:
    """The modules of rtsim but for its benches, parsed."""
    for path in sorted((ROOT / "rtsim").rglob("*.py")):
        if "bench" not in path.relative_to(ROOT).parts:
            yield path, ast.parse(path.read_text(encoding="utf-8"))


def stage_modules() -> dict[str, list[str]]:
    """The stages that are found by folder: name -> classes of their modules."""
    found = {}
    for path in sorted(STAGES.glob("*.py")):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        assigned = {
            ast.unparse(target) for node in body if isinstance(node, ast.Assign) for target in node.targets
        }
        made = {node.name for node in body if isinstance(node, ast.FunctionDef)}
        if "STAGE" in assigned or "make" in made:
            classes = [node for node in body if isinstance(node, ast.ClassDef)]
            found[path.stem] = [node.name for node in classes if not node.name.startswith("_") and node.bases]
    return found


def asks_stages(node: ast.AST) -> bool:
    """Whether an expression looks for something among stages."""
    return any(word in ast.unparse(node) for word in ("stages", ".before"))


def stage_mentions() -> list[Mention]:
    """Where a stage that is found by folder is named outside of that folder, by a string or a class."""
    stages = stage_modules()
    classes = {name for names in stages.values() for name in names} - {"Mention"}
    found = []
    for path, tree in sources():
        if STAGES in path.parents:
            continue
        asked = {
            id(leaf) for node in ast.walk(tree)
            if isinstance(node, (ast.Compare, ast.Subscript, ast.Call, ast.Assign, ast.comprehension))
            and asks_stages(node) for leaf in ast.walk(node)
        }  # fmt: skip
        documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value in stages and id(node) not in documents:
                if node.value not in COMMON_WORDS or id(node) in asked:
                    found.append(Mention(str(path.relative_to(ROOT)), node.lineno, repr(node.value)))
            elif isinstance(node, ast.Name) and node.id in classes:
                found.append(Mention(str(path.relative_to(ROOT)), node.lineno, node.id))
    return found


def person_or_model(test: ast.expr) -> bool:
    """Whether a condition asks if a person is followed, or a model that brings its own markers."""
    for node in ast.walk(test):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if name in PERSON_OR_MODEL:
            return True
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            followed = ast.unparse(node.left).split(".")[-1]
            if followed in FOLLOWED and ast.unparse(node.comparators[0]) == "None":
                return True
    return False


def branches() -> list[Mention]:
    """Conditions that ask whether a person is followed, or a model that brings its own markers."""
    found = []
    for path, tree in sources():
        for node in ast.walk(tree):
            tests = [node.test] if isinstance(node, (ast.If, ast.IfExp, ast.While)) else []
            tests += node.ifs if isinstance(node, ast.comprehension) else []
            found += [
                Mention(str(path.relative_to(ROOT)), test.lineno, ast.unparse(test))
                for test in tests if person_or_model(test)
            ]  # fmt: skip
    return found


if __name__ == "__main__":
    for title, mentions in (("stages named elsewhere", stage_mentions()), ("person or model", branches())):
        for mention in mentions:
            print(f"{mention.file}:{mention.line}: {mention.what}")
        print(f"{title}: {len(mentions)} in {len({mention.file for mention in mentions})} files")
