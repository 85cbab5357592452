"""Lists of texts that continue under NAME2, NAME3, ..., as one parameter holds at most 255 of them."""

from __future__ import annotations

from collections.abc import Sequence

from rtsim.files.c3d_bytes.section import LONGEST_RECORD, MOST_ENTRIES, Section


def list_of(section: Section, group: str, name: str) -> list[str]:
    """Return all entries of the text parameter GROUP:NAME, including those of its continuations NAME2, NAME3,
    ...
    """
    return [text for key in keys_of(section, group, name) for text in section.texts(group, key)]


def keys_of(section: Section, group: str, name: str) -> list[str]:
    """Return the names of the parameters in which a file stores a list of texts: `name`, even if the file
    lacks it, and the continuations NAME2, NAME3, ... that exist.
    """
    keys = [name]
    while section.parameter(group, key := f"{name}{len(keys) + 1}") is not None:
        keys.append(key)
    return keys


def extend(section: Section, group: str, name: str, n_before: int, added: Sequence[str]) -> None:
    """Set the entries of a list after its first `n_before` entries to the texts `added`. If the list is
    shorter, it is padded with empty texts; if longer, its surplus entries are removed first.

    Parameters and entries that do not change keep their bytes, in whatever encoding. Texts that would make a
    parameter longer than readers accept are truncated.
    """
    keys = keys_of(section, group, name)
    said = [text for key in keys for text in section.raw_texts(group, key)][:n_before]
    new = [text.encode("utf-8") for text in added]
    texts = [*said, *[b""] * (n_before - len(said)), *new]
    n_key = max(len(keys), -(-len(texts) // MOST_ENTRIES))
    for k in range(n_key):
        key = name if k == 0 else f"{name}{k + 1}"
        part = texts[k * MOST_ENTRIES : (k + 1) * MOST_ENTRIES]
        longest = min(MOST_ENTRIES, (LONGEST_RECORD - 300) // max(1, len(part)))
        section.put_raw_texts(group, key, [shortened_bytes(text, longest) for text in part])


def shortened_bytes(raw: bytes, n_byte: int) -> bytes:
    """Return a text shortened to at most this many bytes, without a broken character at its end."""
    return raw if len(raw) <= n_byte else raw[:n_byte].decode("utf-8", "ignore").encode("utf-8")
