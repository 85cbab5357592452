"""The mutation that belongs to each form of input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from benchmarks.fuzz.mutation.markup import mutated_markup
from benchmarks.fuzz.mutation.packets import mutated_packets
from benchmarks.fuzz.mutation.raw import mutated_bytes
from benchmarks.fuzz.mutation.trees import mutated_msgpack, mutated_toml
from benchmarks.fuzz.mutation.words import mutated_text
from benchmarks.fuzz.target import Form

Mutation = Callable[[bytes, list[bytes], Random], bytes]
MUTATIONS: Mapping[Form, Mutation] = {
    "bytes": mutated_bytes,
    "text": mutated_text,
    "markup": mutated_markup,
    "toml": mutated_toml,
    "msgpack": mutated_msgpack,
    "packets": mutated_packets,
}
