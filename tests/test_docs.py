"""What the documents name is there: files, modules and what they define, commands and their options."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import click
import pytest

from rtsim.cli.main import COMMANDS, cli
from rtsim.config.paths import shipped_names
from rtsim.live.latency import StageTimes
from streams.messages import Status

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name != "decisions"),
]
PACKAGES = ("kernels", "streams", "rtsim", "benchmarks")
FOLDERS = (*PACKAGES, "configs", "docs", "tests", ".ci")
MODULES = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
LOOPS = (
    *(ROOT / "rtsim" / "live" / f"{name}.py" for name in ("loop", "inputs/inputs")),
    *(ROOT / "rtsim" / "stages").rglob("*.py"),
)
SPOKEN = [path for path in (ROOT / "streams").rglob("*.py") if "capture" not in path.parts]
"""Those of capture systems are counters of a relay."""
# options of other programs in commands that the documents show, or benches run
FOREIGN = {"--quiet", "--help", "--version", "--cflags", "--libs", "--monotonic"}
by_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)


def spans(document: Path) -> list[str]:
    """Everything between single backticks, each on one line."""
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.S)
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text)]


def sources(place: str) -> list[Path]:
    """Files and folders of Python code that `a/b` may stand for, here or inside a package."""
    roots = [ROOT, ROOT / "tests", *(ROOT / package for package in PACKAGES)]
    candidates = [root / (place + suffix) for root in roots for suffix in ("", ".py")]
    return [path for path in candidates if path.exists()]


@cache
def defined(path: Path) -> set[str]:
    """Names that a module defines, those of its classes' members included."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = [node for top in tree.body for node in (top, *getattr(top, "body", []))]
    names = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    for node in nodes:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def names_in(module: str) -> set[str]:
    """What all modules of that name define; "*" stands for any."""
    return set().union(*(defined(path) for path in MODULES if module in ("*", path.stem)))


def is_there(span: str) -> bool:
    """Whether a file or folder, or module.name, is there."""
    if sources(span) or list(ROOT.glob(span)):
        return True
    place, _, name = span.rpartition(".")
    return any(path.suffix == ".py" and name in defined(path) for path in sources(place) if path.is_file())


def places(document: Path) -> set[str]:
    """Everything in the document that reads like a place in the project."""
    text = document.read_text(encoding="utf-8")
    anywhere = re.findall(rf"(?<![\w./-])(?:{'|'.join(map(re.escape, FOLDERS))})/[\w./]*\w", text)
    inside = [span for span in spans(document) if re.fullmatch(r"(models|files|streams|cli)/[\w.]+", span)]
    return {*anywhere, *inside}


@by_document
def test_files_and_modules_are_there(document):
    """Protects readers from files, modules and functions that are gone or were renamed."""
    assert sorted(place for place in places(document) if not is_there(place)) == []


@by_document
def test_functions_are_there(document):
    """Protects readers from `module.function` and `Class.method` that no module defines any more."""
    modules = {path.stem for path in MODULES}
    wrong = []
    for span in spans(document):
        dotted = re.fullmatch(r"([A-Za-z_]\w+)\.([a-z_]\w+)(\(.*\))?", span)
        if dotted and dotted[1] in modules:
            wrong += [span] if dotted[2] not in names_in(dotted[1]) else []
        elif dotted and re.fullmatch(r"(?:[A-Z][a-z]+)+", dotted[1]):
            wrong += [span] if not {dotted[1], dotted[2]} <= names_in("*") else []
    assert wrong == []


def test_names_in_the_architecture_are_there():
    """Protects whoever adds a room: what is written like a name there is a function, a module or a key."""
    known = {*names_in("*"), *(path.stem for path in MODULES)}
    text = spans(ROOT / "docs" / "architecture.md")
    named = [span for span in text if re.fullmatch(r"[a-z]+(_[a-z]+)+", span)]
    assert len(named) > 5
    assert [span for span in named if span not in known] == []


@by_document
def test_linked_files_are_there(document):
    """Protects links between the documents, and to headings in them."""
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)?(?:#[\w-]+)?\)", text):
        if target and "://" not in target:
            assert (document.parent / target).exists(), target
    headings = {
        re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).replace(" ", "-")
        for line in text.splitlines()
        if line.startswith("#")
    }
    assert [anchor for anchor in re.findall(r"\]\(#([\w-]+)\)", text) if anchor not in headings] == []


def commands_in(document: Path) -> list[str]:
    """Commands of rtsim in the document: lines of code blocks, and spans between backticks."""
    text = document.read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:sh)?\n(.*?)```", text, flags=re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    lines = [re.sub(r"^.*(?<=[/& ])(?=rtsim )", "", line) for line in lines]
    return [line.partition("#")[0] for line in [*lines, *spans(document)] if line.startswith("rtsim ")]


def found(words: list[str]) -> tuple[click.Command | None, list[str]]:
    """The command that the words begin with, and the words after it."""
    at: click.Command = cli
    words = list(words)
    while isinstance(at, click.Group) and words and re.fullmatch(r"[a-z][a-z-]*", words[0]):
        with click.Context(at) as context:
            below = at.get_command(context, words[0])
        if below is None:
            return None, words
        at, words = below, words[1:]
    return at, words


def options_of(command: click.Command) -> set[str]:
    return {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}


@by_document
def test_commands_and_their_options_are_there(document):
    """Protects readers from commands, and options of a command, that the command line does not know."""
    wrong = []
    for line in commands_in(document):
        command, words = found(line.split()[1:])
        given = {word.partition("=")[0] for word in words if word.startswith("--")} - FOREIGN
        if command is None or not given <= options_of(command):
            wrong.append(line)
    assert wrong == []


@cache
def known_options() -> frozenset[str]:
    """Options of all commands, of the drivers, and of other programs that are named."""
    known = set(FOREIGN)
    for name in COMMANDS:
        command, _ = found([name])
        assert command is not None
        known |= options_of(command)
        for below in getattr(command, "commands", {}).values():
            known |= options_of(below)
    scripts = [*(ROOT / "examples" / "drivers").glob("*.py"), *(ROOT / ".ci").glob("*.py")]
    for driver in scripts:
        known |= set(re.findall(r'add_argument\(\s*"(--[a-z-]+)"', driver.read_text(encoding="utf-8")))
    return frozenset(known)


@by_document
def test_options_are_there(document):
    """Protects readers from options that no command has."""
    named = {word for span in spans(document) for word in re.findall(r"(?<![\w-])--[a-z][a-z-]*", span)}
    assert sorted(named - known_options()) == []


def test_options_in_sentences_are_there():
    """Protects users from remedies that name an option, or a keyword of a function, that no command has."""
    named = {word for text in printed() for word in re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)}
    assert len(named) > 30
    assert sorted(named - known_options()) == []
    assert [text for text in printed() if re.search(r"\bgive \w+=", text) and "--" not in text] == []


def test_the_tests_of_the_documents_find_something():
    """Protects these tests from patterns that match nothing."""
    architecture = ROOT / "docs" / "architecture.md"
    assert is_there("kernels/joints/tree.pose")
    assert not is_there("kernels/joints/tree.posture")
    assert not is_there("rtsim/live/gone.py")
    assert len([span for span in spans(architecture) if "/" in span]) > 30
    assert len(commands_in(ROOT / "docs" / "commands.md")) > 15
    assert len(symptoms()) > 45
    assert found(["live", "--loop"])[1] == ["--loop"]
    assert found(["dance"])[0] is None


@pytest.mark.parametrize("name", ["protocol.md", "clinic.md"])
def test_every_status_word_is_explained(name):
    """Protects whoever reads a report or writes a client: no flag without its meaning."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    words = [str(bit.name).lower() for bit in Status if bit]
    assert words
    assert [word for word in words if not re.search(rf"\| `?{word}`? \|", text)] == []


def test_every_counter_and_gauge_is_in_the_protocol():
    """Protects clients: whatever the estimator or a receiver counts or measures is explained."""
    text = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    spoken = re.compile(
        r'(?:counters|gauges)\[f?"(\w+)"\]|[._]count\(\s*"(\w+)"|\{"(\w+)": (?:float\(self|n\b|1e3)'
    )
    names = {f"{stage}_us" for stage in StageTimes.STAGES}
    for path in (*SPOKEN, *LOOPS):
        names |= {"".join(found) for found in spoken.findall(path.read_text(encoding="utf-8"))}
    assert {"marker_rms_mm", "turned_away", "wrong_up_axis", "received", "publish_us"} <= names
    assert sorted(name for name in names if f"`{name}`" not in text) == []


def test_every_shipped_model_is_named():
    """Protects the list of models against one that nobody is told of."""
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    models = [name for name in shipped_names("models") if name != "lower_limb"]
    assert [name for name in models if f"`{name}`" not in text] == []


@cache
def printed() -> tuple[str, ...]:
    """Every text in the code, with \x00 for what is put in when it is printed."""
    texts = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = [part.value if isinstance(part, ast.Constant) else "\x00" for part in node.values]
                texts.append("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(re.sub(r"\{\w*\}", "\x00", node.value))
    return tuple(texts)


def symptoms() -> list[str]:
    """Sentences of the page of troubles: what stands in the first cells between backticks, but for words."""
    rows = re.findall(r"^\| (.*?) \|", (ROOT / "docs" / "troubles.md").read_text(encoding="utf-8"), re.M)
    return [span for row in rows for span in re.findall(r"`([^`]+)`", row) if " " in span]


@pytest.mark.parametrize("symptom", symptoms())
def test_a_trouble_is_one_that_is_printed(symptom):
    """Protects whoever looks up a sentence: each is one of the program's, with ... for what is put in."""
    pieces = [re.escape(piece.strip(" ")) for piece in symptom.split("...") if piece.strip(" ,")]
    pattern = re.compile(r"[^\n]*".join(pieces))
    assert any(pattern.search(text) for text in printed())


def test_every_page_is_in_a_list_of_the_site() -> None:
    """Protects readers of the site: `docs/index.md` lists each page once, and none that is not there."""
    docs = ROOT / "docs"
    lists = re.findall(r"```\{toctree\}\n(.*?)```", (docs / "index.md").read_text(encoding="utf-8"), re.S)
    entries = [line for text in lists for line in text.splitlines() if line and not line.startswith(":")]
    listed = [page for entry in entries for page in sorted(docs.glob(f"{entry}.md"))]
    assert sorted(listed) == sorted(page for page in docs.rglob("*.md") if page != docs / "index.md")
    assert all(list(docs.glob(f"{entry}.md")) for entry in entries)
