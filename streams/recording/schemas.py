"""Schemas of the messages in a recording, for programs that read the file without rtsim.

The bytes of a message are MessagePack; their maps have the keys, types and bounds of a JSON Schema
(https://json-schema.org, draft 2020-12), which stands in the file. The arrays of a frame are binary:
little-endian float64 in the shape that the session's descriptor states. The JSON Schema describes them as
strings in base64, as it has no type for binary data.
"""

from __future__ import annotations

import functools

import msgspec

from streams.codec import MESSAGE_TYPES, PLAIN_FIELDS

ENCODING = "jsonschema"
"""Name of the kind of schema, as the MCAP registry has it."""


PLAIN = {"type": "object", "description": "text, numbers, true and false, lists and maps of these"}
"""Schema of tables that a sender fills as it likes; eight levels of them in full would take 30 kB."""


@functools.cache
def schema_of(topic: str) -> bytes | None:
    """Return the JSON Schema of the messages of a topic; None where the protocol has no such topic."""
    kind = MESSAGE_TYPES.get(topic.encode())
    if kind is None:
        return None
    schema = msgspec.json.schema(kind)
    for record in schema["$defs"].values():
        for name in PLAIN_FIELDS & record["properties"].keys():
            record["properties"][name] = PLAIN
    return msgspec.json.encode(schema)
