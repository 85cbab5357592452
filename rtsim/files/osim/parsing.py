"""XML read defensively, as files may come from unknown sources."""

from __future__ import annotations

from typing import NoReturn
from xml.etree import ElementTree
from xml.parsers import expat

from rtsim.errors import ConfigError

MAX_DEPTH = 100
MAX_ELEMENTS = 1_000_000
MISPLACED_DECLARATION = expat.errors.codes[expat.errors.XML_ERROR_MISPLACED_XML_PI]


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
