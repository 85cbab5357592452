"""Elements of an OpenSim document, with the content of its parts in files of their own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, NoReturn
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from rtsim.config.reading import is_file, read_bounded
from rtsim.errors import ConfigError
from rtsim.files.osim.parsing import MAX_ELEMENTS, parse

MAX_BYTES = 64_000_000
OLDEST, NEWEST_KNOWN, NEXT_MAJOR = 30000, 40600, 50000
"""Versions of documents: OpenSim 3.0 to 4.6 are known; a later 4.x is read as far as possible."""
NEWEST_LAYOUT = 40000
"""Version from which joints are stored apart from bodies, and elements name frames by paths."""
LARGEST = 1e100
"""Largest number that is accepted; sums of squares of larger ones overflow."""
FLAGS = {"true": True, "1": True, "false": False, "0": False}
UPDATE = "open the model in OpenSim 4 and save it again"


class Aloud(str):
    """A note on the conversion of a model that is also printed at the start of a run, because its results may
    differ from what the author of the model intended.
    """


class IncludedFile(NamedTuple):
    """A file whose content belongs to an element of another document, and the version of that file."""

    path: Path
    version: int


@dataclass
class Document:
    """Data that all elements of an OpenSim document share: path, version and notes."""

    where: str
    version: int = 0
    defaults: dict[str, ElementTree.Element] = field(default_factory=dict)  # class -> its default element
    notes: list[str] = field(default_factory=list)
    parts: dict[ElementTree.Element, IncludedFile] = field(default_factory=dict)  # by the elements they fill
    n_byte: int = 0  # of all its files together

    def note(self, text: str, aloud: bool = False) -> None:
        """Store a note for the user, each only once; aloud : whether it is also printed at the start of
        runs
        """
        if text not in self.notes:
            self.notes.append(Aloud(text) if aloud else text)


@dataclass(frozen=True)
class Node:
    """An element with its properties; a property that the file leaves out has the default of its class."""

    element: ElementTree.Element
    document: Document
    trail: str  # path of the element in the document, for messages

    @property
    def tag(self) -> str:
        return self.element.tag

    @property
    def name(self) -> str:
        return self.element.get("name", "")

    @property
    def label(self) -> str:
        """Class and name of the element."""
        return f"{self.tag} {self.name}" if self.name else self.tag

    def fail(self, what: str, *, allowed: str | None = None, remedy: str | None = None) -> NoReturn:
        raise ConfigError(what, where=f"{self.document.where}: {self.trail}", allowed=allowed, remedy=remedy)

    def node(self, element: ElementTree.Element) -> Node:
        """Return an XML element below this one as a Node. In its path, which messages state, the element
        `objects` that only groups the members of a set is left out, and a part in a file of its own has the
        name of that file.
        """
        label = Node(element, self.document, "").label
        part = self.document.parts.get(element)
        label = label if part is None else f"{label} (file {part.path.name})"
        return Node(element, self.document, self.trail if label == "objects" else f"{self.trail} / {label}")

    def children(self) -> Iterator[Node]:
        return (self.node(child) for child in self.element if isinstance(child.tag, str))  # no comment

    def child(self, *tags: str) -> Node | None:
        """Return the property with one of the names `tags`, from the element or else from the file's defaults
        for its class; None if it is in neither.
        """
        default = self.document.defaults.get(self.tag)
        for holder in (self.element,) if default is None else (self.element, default):
            for tag in tags:
                found = holder.find(tag)
                if found is not None:
                    return self.node(found)
        return None

    def members(self, tag: str) -> list[Node]:
        """Return the objects of the set that the property `tag` holds; empty where there is no such set."""
        found = self.child(tag)
        objects = found.child("objects") if found else None
        return list(objects.children()) if objects else []

    def children_of(self, tag: str) -> list[Node]:
        """Return the elements of the list in the property `tag`; empty where there is no such list."""
        found = self.child(tag)
        return list(found.children()) if found else []

    def text(self, *tags: str, default: str = "") -> str:
        found = self.child(*tags)
        return " ".join((found.element.text or "").split()) if found else default

    def flag(self, tag: str, default: bool = False) -> bool:
        """Return the boolean property `tag`; any other text is reported and read as the default, as in
        OpenSim.
        """
        said = self.text(tag)
        if said and said.lower() not in FLAGS:
            taken = str(default).lower()
            self.document.note(
                f"{self.label}: {tag} is {said[:40]!r}, which is neither true nor false; {taken} was used",
                aloud=True,
            )
        return FLAGS.get(said.lower(), default)

    def numbers(self, tag: str, finite: bool = True) -> list[float] | None:
        """Return the numbers in the property `tag`, None if the property is missing; NaN is rejected, and
        with `finite` also values beyond 1e100.
        """
        found = self.child(tag)
        if found is None:
            return None
        try:
            values = [float(word) for word in (found.element.text or "").split()]
        except ValueError:
            found.fail(
                f"{(found.element.text or '').strip()!r} does not consist of numbers",
                remedy="correct this element in the file",
            )
        for value in values:
            if math.isnan(value) or (finite and abs(value) > LARGEST):
                found.fail(
                    f"{value} is not a finite number within the range that rtsim accepts",
                    remedy="correct this element in the file",
                )
        return values

    def vector(self, tag: str, n: int = 3, default: float | None = 0.0) -> NDArray[np.float64]:
        """Return the property `tag` of n numbers.

        default : value of each number if the property is missing; None = it is required
        """
        values = self.numbers(tag)
        if values is None and default is not None:
            return np.full(n, default)
        if values is None or len(values) != n:
            found = "it is missing" if values is None else f"{len(values)} numbers"
            self.fail(f"{tag} needs {n} numbers; {found}", remedy="correct this element in the file")
        return np.array(values)

    def number(self, tag: str, default: float | None = None) -> float:
        return float(self.vector(tag, 1, default)[0])


def read_document(path: Path, comments: bool = False) -> Node:
    """Read the Model element of an .osim file, with the content of its parts in files of their own, and with
    comments if requested; ConfigError if it cannot be read.
    """
    root, document = read_root(path, "give an OpenSim model (.osim)", comments)
    check_version(document)
    model = root.find("Model")
    if model is None:
        raise ConfigError(
            "the file contains no element Model", where=str(path), remedy="give an OpenSim model (.osim)"
        )
    node = Node(model, document, f"Model {model.get('name', '')}".strip())
    include_parts(node, versioned=True, comments=comments)
    if model.find(".//connectors") is not None:
        raise ConfigError(
            "the file has the layout of a test version of OpenSim 4", where=str(path), remedy=UPDATE
        )
    return node


def check_version(document: Document) -> None:
    """Raise ConfigError for a version whose layout of models rtsim does not know; note one that is newer than
    the newest known.
    """
    if not OLDEST <= document.version < NEXT_MAJOR:
        raise ConfigError(
            f"document version {document.version}",
            where=document.where,
            allowed=f"{OLDEST} to {NEWEST_KNOWN} (OpenSim 3.0 to 4.6)",
            remedy=UPDATE,
        )
    if document.version > NEWEST_KNOWN:
        document.note(
            f"document version {document.version} is newer than the newest version that rtsim knows, "
            f"{NEWEST_KNOWN}"
        )


def read_part(path: Path, tag: str, remedy: str) -> Node:
    """Read the only element of class `tag` in a document of any version, such as the setup of a tool or a
    marker set, with the content of its parts in files of their own.

    Property names of these classes have not changed since OpenSim 2. remedy : advice in errors
    """
    root, document = read_root(path, remedy)
    found = only_element(root, tag, document.where, remedy)
    node = Node(found, document, f"{tag} {found.get('name', '')}".strip())
    include_parts(node, versioned=False)
    return node


def only_element(root: ElementTree.Element, tag: str, where: str, remedy: str) -> ElementTree.Element:
    """Return the only element of class `tag` in a document; ConfigError if there is none or another one."""
    if root.tag == tag:  # a document of OpenSim 1
        return root
    found = root.findall(tag)
    if len(found) != 1:
        inside = ", ".join(child.tag for child in root if isinstance(child.tag, str)) or "nothing"
        raise ConfigError(f"the file contains no {tag}, but {inside}", where=where, remedy=remedy)
    return found[0]


def include_parts(top: Node, versioned: bool, comments: bool = False) -> None:
    """Fill every element that has the attribute `file` with the content of that file, and collect the
    defaults of classes.

    As in OpenSim, the paths of files, also of those that are named in parts, start at the folder of the whole
    document; a member of a set (below `objects`) has no file of its own. ConfigError for a file that is not
    there, has another class of element, or contains itself.

    top : the element of the whole document
    versioned : whether parts need a version whose layout of models rtsim knows
    """
    names_files = any(element.get("file") for element in top.element.iter())
    waiting: list[tuple[Node, tuple[Path, ...]]] = [(top, ())] if names_files else []
    n_element = sum(1 for _ in top.element.iter())
    while waiting:
        holder, within = waiting.pop()
        for child in holder.children():
            if not child.element.get("file", "").strip():
                waiting.append((child, within))
            elif holder.tag == "objects":
                top.document.note(
                    f"{child.label}: its attribute file is ignored, as in OpenSim, which reads only whole "
                    "sets from files of their own",
                    aloud=True,
                )
                waiting.append((child, within))
            else:
                path = include(child, top, within, versioned, comments)
                n_element += sum(1 for _ in child.element.iter())
                if n_element > MAX_ELEMENTS:
                    child.fail(f"with this file the document has more than {MAX_ELEMENTS} elements")
                waiting.append((holder.node(child.element), (*within, path)))
    for element in top.element.findall("defaults/*"):
        top.document.defaults[element.tag] = element


def include(node: Node, top: Node, within: tuple[Path, ...], versioned: bool, comments: bool) -> Path:
    """Replace the content of an element by that of the file that its attribute `file` names; return the path
    of this file. Defaults of classes in the file become defaults of the whole document.

    within : files in whose content the element stands; the other arguments are those of include_parts
    """
    document, element = node.document, node.element
    said = element.get("file", "").strip()
    path = Path(document.where).parent / said.replace("\\", "/")  # a document may come from another system
    if not is_file(path):
        node.fail(
            f"the attribute file names {said!r}, and there is no such file in the folder of the document",
            remedy="put the file there, or correct the attribute file",
        )
    if path in within:
        node.fail(f"the file {said!r} contains itself", remedy="correct the attribute file")
    remedy = f"name a file with an element {node.tag}"
    root, part = read_root(path, remedy, comments, beside=document, bare="" if versioned else node.tag)
    if versioned:
        check_version(part)
    for note in part.notes:
        document.note(f"{node.label} (file {path.name}): {note}")
    content = only_element(root, node.tag, str(path), remedy)
    if len(element):
        document.note(f"{node.label}: its own content was not used, because it names the file {path.name}")
    for defaults in content.findall("defaults"):
        content.remove(defaults)
        add_defaults(top, defaults, path)
    element[:] = list(content)
    element.text = content.text
    element.attrib.clear()
    element.attrib.update({key: value for key, value in content.attrib.items() if key != "file"})
    document.parts[element] = IncludedFile(path, part.version)
    document.n_byte += part.n_byte
    return path


def add_defaults(top: Node, defaults: ElementTree.Element, path: Path) -> None:
    """Add the defaults of classes that a part states to those of the whole document, which go first."""
    own = top.element.find("defaults")
    own = ElementTree.SubElement(top.element, "defaults") if own is None else own
    for default in defaults:
        before = own.find(default.tag) if isinstance(default.tag, str) else None
        if before is None:
            own.append(default)
        elif ElementTree.tostring(before).split() != ElementTree.tostring(default).split():
            top.document.note(
                f"{path.name}: the defaults of {default.tag} in this file were not used, because others are "
                "stated before",
                aloud=True,
            )


def read_root(
    path: Path, remedy: str, comments: bool = False, beside: Document | None = None, bare: str = ""
) -> tuple[ElementTree.Element, Document]:
    """Read the root element of an OpenSim document, and its shared data.

    beside : document of which the file is a part; both together are limited in size
    bare : class of an element that may be the root itself, as in documents of OpenSim 1; "" = none
    """
    n_most = MAX_BYTES - (0 if beside is None else beside.n_byte)
    data = read_bounded(path, n_most, "the file is too large for a model")
    root = parse(data, str(path), comments)
    if bare and root.tag == bare:
        return root, Document(str(path), n_byte=len(data))
    version = root.get("Version", "")
    if root.tag != "OpenSimDocument":
        raise ConfigError(
            f"the root element is {root.tag}, not OpenSimDocument", where=str(path), remedy=remedy
        )
    if not version.isdecimal() or len(version) > 9:
        raise ConfigError(
            f"the Version of its OpenSimDocument is {version!r}", where=str(path),
            allowed=f"a number such as {NEWEST_LAYOUT}", remedy="open the file in OpenSim and save it again",
        )  # fmt: skip
    return root, Document(str(path), int(version), n_byte=len(data))
