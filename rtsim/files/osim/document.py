"""Elements of an OpenSim document: XML read defensively, as files may come from unknown sources."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.etree import ElementTree
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from rtsim.config.reading import read_bounded
from rtsim.errors import ConfigError

MAX_BYTES = 64_000_000
MAX_DEPTH = 100
MAX_ELEMENTS = 1_000_000
OLDEST, NEWEST_KNOWN, NEXT_MAJOR = 30000, 40600, 50000
"""Versions of documents: OpenSim 3.0 to 4.6 are known; a later 4.x is read as far as possible."""
MISPLACED_DECLARATION = expat.errors.codes[expat.errors.XML_ERROR_MISPLACED_XML_PI]
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


@dataclass
class Document:
    """Data that all elements of an OpenSim document share: path, version and notes."""

    where: str
    version: int = 0
    defaults: dict[str, ElementTree.Element] = field(default_factory=dict)  # class -> its default element
    notes: list[str] = field(default_factory=list)

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
        `objects` that only groups the members of a set is left out.
        """
        label = Node(element, self.document, "").label
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
    """Read the Model element of an .osim file, with comments if requested; ConfigError if it cannot be
    read.
    """
    root, document = read_root(path, "give an OpenSim model (.osim)", comments)
    if not OLDEST <= document.version < NEXT_MAJOR:
        raise ConfigError(
            f"document version {document.version}",
            where=str(path),
            allowed=f"{OLDEST} to {NEWEST_KNOWN} (OpenSim 3.0 to 4.6)",
            remedy=UPDATE,
        )
    if document.version > NEWEST_KNOWN:
        document.note(
            f"document version {document.version} is newer than the newest version that rtsim knows, "
            f"{NEWEST_KNOWN}"
        )
    model = root.find("Model")
    if model is None:
        raise ConfigError(
            "the file contains no element Model", where=str(path), remedy="give an OpenSim model (.osim)"
        )
    if model.find(".//connectors") is not None:
        raise ConfigError(
            "the file has the layout of a test version of OpenSim 4", where=str(path), remedy=UPDATE
        )
    for element in model.findall("defaults/*"):
        document.defaults[element.tag] = element
    return Node(model, document, f"Model {model.get('name', '')}".strip())


def read_part(path: Path, tag: str, remedy: str) -> Node:
    """Read the only element of class `tag` in a document of any version, such as the setup of a tool or a
    marker set.

    Property names of these classes have not changed since OpenSim 2. remedy : advice in errors
    """
    root, document = read_root(path, remedy)
    found = root.findall(tag)
    if len(found) != 1:
        inside = ", ".join(child.tag for child in root) or "nothing"
        raise ConfigError(f"the file contains no {tag}, but {inside}", where=str(path), remedy=remedy)
    return Node(found[0], document, f"{tag} {found[0].get('name', '')}".strip())


def read_root(path: Path, remedy: str, comments: bool = False) -> tuple[ElementTree.Element, Document]:
    """Read the root element of an OpenSim document, and its shared data."""
    root = parse(read_bounded(path, MAX_BYTES, "the file is too large for a model"), str(path), comments)
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
    return root, Document(str(path), int(version))


def parse(data: bytes, where: str, comments: bool = False) -> ElementTree.Element:
    """Parse XML and return the root element. A document type declaration, which could define entities, is
    rejected first.
    """
    parser, depth, n_element = expat.ParserCreate(), 0, 0
    builder = ElementTree.TreeBuilder(insert_comments=comments)

    def refuse(*_: object) -> NoReturn:
        raise ConfigError(
            "the file has a document type definition, which a model does not need",
            where=where,
            remedy="remove <!DOCTYPE ...>",
        )

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, n_element
        depth, n_element = depth + 1, n_element + 1
        if depth > MAX_DEPTH:
            raise ConfigError(f"elements are nested more than {MAX_DEPTH} deep", where=where)
        if n_element + len(attributes) > MAX_ELEMENTS:
            raise ConfigError(f"the file has more than {MAX_ELEMENTS} elements", where=where)
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    if comments:
        parser.CommentHandler = builder.comment
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:  # LookupError: an unknown encoding
        if getattr(error, "code", 0) == MISPLACED_DECLARATION:
            raise ConfigError(
                "not valid XML: something stands before <?xml ...?>, which must be the first in a file",
                where=where, remedy="remove what stands before it: a comment, a blank, an empty line",
            ) from None  # fmt: skip
        raise ConfigError(
            f"not valid XML: {error}", where=where, remedy="correct the line named in this message"
        ) from None
    return builder.close()
