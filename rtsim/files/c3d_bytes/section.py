"""The parameter section of a C3D file as records with their bytes, so that unchanged parameters keep their
bytes.

A record has: length of the name (negative = locked), number of the group (negative = the record of the group
itself), name, offset to the next record, body (c3d.org, "The C3D File Format: User Guide", parameter
format).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from rtsim.errors import ConfigError
from rtsim.files.c3d_bytes.words import MIPS, Words
from rtsim.files.markers.c3d_check import BLOCK

HEAD = 4
"""Number of bytes before the first record: two without use, number of blocks, type of processor."""
TEXT, BYTE, INTEGER, REAL = -1, 1, 2, 4
MOST_ENTRIES = 255
"""Number of entries that a dimension can have, as one byte counts them; longer lists go on under NAME2,
NAME3, ..."""
MOST_BLOCKS = 255
LONGEST_RECORD = 32_000
"""Largest size of a record's body [bytes]: some readers take the offset as a signed 16-bit number."""
MOST_GROUPS = 127
FILLING = b" \0"
"""Characters that pad texts to the common width of the entries of a parameter."""


class C3dParameter(NamedTuple):
    """The body of a parameter's record.

    kind : -1 text, 1 byte, 2 integer, 4 real
    sizes : dimensions, the first varies fastest
    data : bytes in the order of the file
    """

    kind: int
    sizes: tuple[int, ...]
    data: bytes
    description: bytes = b""

    def body(self) -> bytes:
        """Return the type, dimensions, data and description of the parameter as bytes, as in its record."""
        head = struct.pack("<bB", self.kind, len(self.sizes)) + bytes(self.sizes)
        return head + self.data + struct.pack("<B", len(self.description)) + self.description


class Record(NamedTuple):
    """One record of the parameter section: a parameter or a group.

    length : length of the name, negative if the record is locked
    group : number of the group, negative for the record of a group itself
    """

    length: int
    group: int
    name: bytes
    body: bytes

    @property
    def key(self) -> str:
        """Name of the parameter or group in upper case and without blanks at its ends, by which it is looked
        up.
        """
        return self.name.decode("latin-1").strip().upper()


class Section:
    """The records of a parameter section in the order of the file; ConfigError, naming `where`, if they
    cannot be read.
    """

    def __init__(self, data: bytes, where: str) -> None:
        """Read the records; data : bytes from the beginning of the section; where : name of the file, for
        errors
        """
        self.where = where
        if len(data) < HEAD:
            self._fail()
        self.first = data[:2]
        self.words = Words(data[3], where)
        self.records: list[Record] = []
        self.size = self._read(data)

    def parameter(self, group: str, name: str) -> C3dParameter | None:
        """Return a parameter by the names of its group and its own name; None if it is missing."""
        at = self._find(group, name)
        return None if at is None else self.parsed(self.records[at].body)

    def put(self, group: str, name: str, parameter: C3dParameter) -> None:
        """Replace a parameter, or append it after all others if it is new; its group is added if it is
        missing.
        """
        body = parameter.body()
        if len(body) > LONGEST_RECORD or any(not 0 <= n <= MOST_ENTRIES for n in parameter.sizes):
            raise ConfigError(f"{group}:{name} would be too long for a C3D file", where=self.where)
        at = self._find(group, name)
        if at is None:
            raw = name.encode("latin-1")
            self.records.append(Record(len(raw), self._group(group, make=True) or 0, raw, body))
        else:
            self.records[at] = self.records[at]._replace(body=body)

    def raw_texts(self, group: str, name: str) -> list[bytes]:
        """Return the entries of a text parameter as bytes, without those of its continuations NAME2, NAME3,
        ...
        """
        found = self.parameter(group, name)
        if found is None or found.kind != TEXT:
            return []
        width, n = (*found.sizes, 1, 1)[:2] if found.sizes else (1, 1)
        return [found.data[k * width : (k + 1) * width] for k in range(n)]

    def texts(self, group: str, name: str) -> list[str]:
        """Return the texts of a parameter, without blanks at their ends."""
        return [decoded(raw) for raw in self.raw_texts(group, name)]

    def put_raw_texts(self, group: str, name: str, texts: Sequence[bytes]) -> None:
        """Set a text parameter of one dimension from bytes; nothing changes if it already has these texts.

        The common width of the entries never shrinks; existing entries keep their bytes, except for the
        padding.
        """
        found = self.parameter(group, name)
        bare = [text.rstrip(FILLING) for text in texts]
        there = [text.rstrip(FILLING) for text in self.raw_texts(group, name)]
        if found is not None and found.kind == TEXT and there == bare:
            return
        before = found.sizes[0] if found is not None and found.kind == TEXT and found.sizes else 0
        width = max(before, *map(len, bare), 0)
        data = b"".join(text.ljust(width) for text in bare)
        self.put(
            group, name, C3dParameter(TEXT, (width, len(bare)), data, found.description if found else b"")
        )

    def put_texts(self, group: str, name: str, texts: Sequence[str]) -> None:
        """Set a text parameter of one dimension to these texts, encoded in UTF-8."""
        self.put_raw_texts(group, name, [text.encode("utf-8") for text in texts])

    def number(self, group: str, name: str) -> float | None:
        """Return the first number of a parameter; None if it is missing or not finite. Integers are read as
        unsigned.
        """
        found = self.parameter(group, name)
        if found is None or found.kind == TEXT or not found.data:
            return None
        if found.kind == REAL:
            value = float(self.words.floats(found.data[:4])[0])
            return value if math.isfinite(value) else None
        return float(self.words.whole(found.data[:2]) if found.kind == INTEGER else found.data[0])

    def put_number(self, group: str, name: str, value: float, kind: int = INTEGER) -> None:
        """Set a parameter to one number; an existing parameter keeps its type, a new one gets the type
        `kind`.
        """
        found = self.parameter(group, name)
        kind = found.kind if found is not None and found.kind in (INTEGER, REAL) else kind
        data = self.words.from_floats(value) if kind == REAL else self.words.from_integers(round(value))
        sizes = found.sizes if found is not None and math.prod(found.sizes) == 1 else ()
        self.put(group, name, C3dParameter(kind, sizes, data, found.description if found else b""))

    def written(self) -> bytes:
        """Return the section as bytes in whole blocks; ConfigError if it has more than 255 blocks, whose
        number is stored in one byte.
        """
        order = ">H" if self.words.code == MIPS else "<H"
        parts = [
            struct.pack("<bb", r.length, r.group) + r.name + struct.pack(order, len(r.body) + 2) + r.body
            for r in self.records
        ]
        length = HEAD + sum(map(len, parts)) + 2  # two bytes of 0 end the list
        n_block = -(-length // BLOCK)
        if n_block > MOST_BLOCKS:
            raise ConfigError(
                f"the parameters of the file would take {n_block} blocks of {BLOCK} bytes", where=self.where,
                allowed=f"up to {MOST_BLOCKS}", remedy="write the results as .mot, .csv or .mcap",
            )  # fmt: skip
        head = self.first + bytes([n_block, self.words.code])
        return (head + b"".join(parts)).ljust(n_block * BLOCK, b"\0")

    def _find(self, group: str, name: str) -> int | None:
        number = self._group(group)
        for k, record in enumerate(self.records):
            if number is not None and record.group == number and record.key == name:
                return k
        return None

    def _group(self, name: str, make: bool = False) -> int | None:
        """Return the number of a group; None if it is missing and not to be created."""
        for record in self.records:
            if record.group < 0 and record.key == name:
                return -record.group
        if not make:
            return None
        used = {abs(record.group) for record in self.records}
        free = next((k for k in range(1, MOST_GROUPS + 1) if k not in used), None)
        if free is None:
            raise ConfigError(f"the file has {MOST_GROUPS} groups of parameters, and no room for {name}",
                              where=self.where)  # fmt: skip
        raw = name.encode("latin-1")
        self.records.append(Record(len(raw), -free, raw, b"\0"))
        return free

    def _read(self, data: bytes) -> int:
        """Read the records of the section from bytes; return how many bytes they take."""
        order, at = (">H" if self.words.code == MIPS else "<H"), HEAD
        while True:
            if at + 2 > len(data):
                self._fail()
            length, group = struct.unpack_from("<bb", data, at)
            if length == 0 or group == 0:
                return at + 2
            name = data[at + 2 : at + 2 + abs(length)]
            start = at + 4 + abs(length)
            if start > len(data):
                self._fail()
            (offset,) = struct.unpack_from(order, data, start - 2)
            body = data[start : start - 2 + offset] if offset else data[start:]
            if offset in (1, 2) or (offset and start - 2 + offset > len(data)):
                self._fail()
            if group > 0:
                body = body[: len(self.parsed(body).body())] if offset == 0 else body
                self.parsed(body)
            elif offset == 0:
                body = body[: 1 + body[0]] if body else b"\0"
            self.records.append(Record(length, group, name, body))
            if offset == 0:
                return start + len(body)
            at = start - 2 + offset

    def parsed(self, body: bytes) -> C3dParameter:
        """Parse a parameter from the body of its record."""
        if len(body) < 2:
            self._fail()
        kind, n_size = struct.unpack_from("<bB", body)
        sizes = tuple(body[2 : 2 + n_size])
        n_byte = abs(kind) * math.prod(sizes)
        start = 2 + n_size
        if kind not in (TEXT, BYTE, INTEGER, REAL) or len(sizes) < n_size or start + n_byte > len(body):
            self._fail()
        rest = body[start + n_byte :]
        description = rest[1 : 1 + rest[0]] if rest else b""
        return C3dParameter(kind, sizes, body[start : start + n_byte], description)

    def _fail(self) -> NoReturn:
        raise ConfigError(
            "the parameter section of the C3D file is damaged", where=self.where, remedy="export it again"
        )


def decoded(raw: bytes) -> str:
    """Decode a text in UTF-8 or Latin-1, without the blanks and zeros that pad it."""
    bare = raw.rstrip(FILLING)
    try:
        return bare.decode("utf-8")
    except UnicodeDecodeError:
        return bare.decode("latin-1")
