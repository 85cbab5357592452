"""A copy of a recording without any text that identifies a person, which can be given to others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, get_args

from msgspec.structs import replace

from rtsim.config.paths import configs_root
from rtsim.config.runs.rate_schema import RateSpec
from rtsim.errors import ConfigError
from rtsim.files.output import whole
from streams.codec import decode, encode
from streams.errors import DecodeError, StreamError
from streams.messages import AnyMessage, Command, Device, End, FieldSpec, Journal, Session, Telemetry
from streams.recording.recorded import read_messages
from streams.recording.recorder import Recorder

PERSON, REASON = "person", "the recording is over"
FAULT = "the device has a fault, whose description was removed to make this copy anonymous"
NAMED = {"subject": PERSON, "source": "recording"}
"""Entries of a descriptor that readers expect -> the value that replaces theirs."""
OF_PROTOCOL = frozenset({
    "Y", "Z", "X", "right", "left", "both", "zero", "minimised", "prescribed", "foot_strike", "foot_off",
    "plates", "markers", "file", "lockstep", "free", "secant", "split",
    "ground", "stiffness_damping",
})  # fmt: skip
"""Words of the protocol that may stay as values in a descriptor, in addition to the kinds of filters."""
KEYS = frozenset({
    "up", "speed", "time_base", "sample_rate", "corners", "levels", "zero", "side", "model",
    "method", "methods", "config", "chosen", "commands", "stick", "rates", "ranges_deg", "bias_deg",
    "muscle_points", "mass_kg", "model_mass_kg", "stature_m", "marker_weights", "foot", "device",
    "gait_events", "step_ms", "kinks",
})  # fmt: skip
"""Entries of a descriptor that rtsim reads; all others, which a sender may add, are removed."""


class AnonymousCopy(NamedTuple):
    """Result of copying a recording without texts that identify a person.

    n_text : number of removed or replaced texts, by kind
    n_bad : number of omitted messages that could not be decoded
    prefixes : prefixes of marker names, such as the name of a person, that were replaced
    note : a note if the recording is truncated, else ""
    """

    n_text: Counter[str]
    n_bad: int
    prefixes: tuple[str, ...]
    note: str


class Anonymiser:
    """Removes every text that may name a person, a place or a day from the messages of a recording, which are
    given one after the other.

    Only text that cannot be a name remains: numbers, words of the protocol, names of shipped configs, and
    labels of fields (without the part of a marker's name before its colon, as in Anna:LASI).
    """

    def __init__(self) -> None:
        self.n_text: Counter[str] = Counter()
        self.prefixes: dict[str, str] = {}
        filters = {str(spec.__struct_config__.tag) for spec in get_args(RateSpec)}
        self._known = OF_PROTOCOL | filters | {path.stem for path in configs_root().glob("*/*.toml")}

    def of(self, message: AnyMessage) -> AnyMessage:
        """Return the message without any text that may name a person, a place or a day."""
        if isinstance(message, Session):
            return self._session(message)
        if isinstance(message, Telemetry):
            self.n_text["sentences removed from the messages of the run"] += len(message.text)
            return replace(message, text=[])
        if isinstance(message, Command):
            return replace(message, args=self._plain(message.args, self._known))
        if isinstance(message, End):
            return replace(message, reason=REASON)
        if isinstance(message, Device) and message.fault:
            self.n_text["descriptions removed from faults of the device"] += 1
            return replace(message, fault=FAULT)
        return message

    def _session(self, session: Session) -> Session:
        """Return the descriptor of a session without texts that may name a person."""
        fields = tuple(self._field(field, session.stream == "result") for field in session.fields)
        words = chain.from_iterable((field.name, *field.labels, *field.parts) for field in fields)
        table = {key: value for key, value in session.meta.items() if key in KEYS}
        self.n_text["entries removed from descriptors of streams"] += len(
            session.meta.keys() - KEYS - {*NAMED, PERSON}
        )
        meta = self._plain(table, self._known | set(words))
        for key, value in NAMED.items():
            if session.meta.get(key):
                meta[key] = value
        if isinstance(person := session.meta.get("person"), str) and person:
            meta["person"] = self._prefix(person)
        return replace(session, fields=fields, meta=meta)

    def _field(self, field: FieldSpec, is_result: bool) -> FieldSpec:
        """Return the description of an array, with the prefixes of its labels replaced.

        Descriptions of results are kept, as rtsim wrote them; those by a sender of markers or forces are
        removed.
        """
        labels = tuple(map(self._label, field.labels))
        if is_result:
            return replace(field, labels=labels)
        return FieldSpec(field.name, field.shape, field.unit, labels, field.parts)

    def _label(self, label: str) -> str:
        prefix, colon, name = label.rpartition(":")
        return f"{self._prefix(prefix)}:{name}" if colon else label

    def _prefix(self, prefix: str) -> str:
        """Return the replacement for a person's name in front of marker names; the same prefix always has
        the same replacement.
        """
        return self.prefixes.setdefault(prefix, f"{PERSON}_{len(self.prefixes) + 1}")

    def _plain(self, table: Mapping[str, Any], known: frozenset[str] | set[str]) -> dict[str, Any]:
        """Return a table of numbers, texts and lists without texts that are not in `known`, and without
        empty lists and tables.
        """
        kept = {key: self._value(value, known) for key, value in table.items()}
        return {key: value for key, value in kept.items() if value not in (None, [], {})}

    def _value(self, value: Any, known: frozenset[str] | set[str]) -> Any:
        if isinstance(value, str):
            if value.rpartition(":")[0] in self.prefixes:
                value = self._label(value)
            if value in known:
                return value
            self.n_text["texts removed from descriptors of streams and from commands"] += 1
            return None
        if isinstance(value, Mapping):
            return self._plain(value, known)
        if isinstance(value, list | tuple):
            found = [self._value(item, known) for item in value]
            if any(new is None and isinstance(old, str) for old, new in zip(value, found, strict=True)):
                return None  # a row of which a part is gone is no row any more
            return [item for item in found if item is not None]
        return value


def write_anonymous(recording: Path, out: Path) -> AnonymousCopy:
    """Write a copy of a recording from which the names of persons, files and places, the notes, the command
    log and the date are removed.

    ConfigError if the file is not a recording, or `out` cannot be written; an existing file is replaced.
    """
    anonymiser, n_bad = Anonymiser(), 0
    try:
        messages = read_messages(recording)
        with whole(out) as part:
            part.unlink()  # a recorder makes its file itself
            with Recorder(part, dated=False) as recorder:
                for t_ns, topic, payload in messages:
                    try:
                        message = decode([topic, payload])
                    except DecodeError:
                        n_bad += 1
                        continue
                    if isinstance(message, Journal):  # files, paths and raw frames of a person
                        anonymiser.n_text["entries removed from the command log"] += 1
                        continue
                    topic, payload = encode(anonymiser.of(message))
                    recorder.write(topic, payload, t_ns)
            if not recorder.n_message:
                raise ConfigError(
                    "the recording contains no message", where=str(recording), remedy="give another"
                )
    except FileNotFoundError:
        raise ConfigError("no such file", where=str(recording), remedy="check the path") from None
    except (OSError, StreamError) as fault:
        raise ConfigError(f"the recording cannot be copied ({fault})", where=str(recording)) from None
    return AnonymousCopy(anonymiser.n_text, n_bad, tuple(anonymiser.prefixes), messages.note)
