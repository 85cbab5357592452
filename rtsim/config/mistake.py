"""Translation of a schema's error messages (msgspec) into messages about the config file: the key, and its
allowed values.
"""

from __future__ import annotations

import re
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

# (record, key) or ("kind", value) of earlier model files -> what it is now
LIGAMENT = "write a [[ligaments]] entry with length = { target_mm, mean_mm, polynomial }"
FORMER = {
    ("ModelSpec", "displacement"): "remove this key: rtsim does not read it",
    ("ModelSpec", "contact_elements"): "remove this key: the results contain all [[contacts]]",
    ("Element", "ligament"): LIGAMENT,
    ("Element", "mean_mm"): LIGAMENT,
    ("Element", "length_polynomial"): LIGAMENT,
    ("kind", "sphere_on_plane"): (
        "write [[contacts]] with ellipsoid = { ..., radius_mm } and plane = { ..., normal }, "
        'or [[elements]] with kind = "plane" for a point at a constant distance from a plane'
    ),
}

BOUND = re.compile(r"Expected `(?:float|int)` (>=|<=|>|<) (\S+)")
BOUNDS = {">=": "{:g} or more", "<=": "{:g} at the most", ">": "more than {:g}", "<": "less than {:g}"}
PATH = re.compile(r" - at `(?:key in )?\$(.*)`$")
STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")


def explain(message: str, data: object, record: type[msgspec.Struct]) -> tuple[str, str | None, str]:
    """Translate the error message of a schema (msgspec) for users; return the fault, the allowed values (None
    if the fault states them) and the remedy.

    data : the tables of the file; record : their schema
    """
    found = PATH.search(message)
    what = message[: found.start()] if found else message
    key, kind = locate(found.group(1) if found else "", data, record)
    what = what.replace("Object", "the table" if key else "the file").replace("`object`", "`table`")
    what = what.replace("missing required", "lacks the required")
    if key:
        what = f"key {key}: {what}"
    if "unknown field" in what and is_record(kind):
        now = FORMER.get((kind.__name__, quoted(what)))
        return what, ", ".join(kind.__struct_fields__), now or "remove it or correct its spelling"
    if get_origin(kind) is Literal:
        now = FORMER.get((key.rpartition(".")[2], quoted(what)))
        return what, ", ".join(map(str, get_args(kind))), now or "correct the value"
    return what, None, "add it" if "lacks" in what else "correct the value"


def bound_in_words(what: str) -> str:
    """Return as text the bound, such as "0 or more", that a schema's error message states; "" if it states
    none.
    """
    found = BOUND.search(what)
    return BOUNDS[found.group(1)].format(float(found.group(2))) if found else ""


def quoted(what: str) -> str:
    """Return the first word in quotation marks in the error message of a schema."""
    found = re.search(r"[`']([^`']*)[`']", what)
    return found.group(1) if found else ""


def locate(path: str, data: Any, kind: Any) -> tuple[str, Any]:
    """Return the key in a file to which the path in a schema's error message leads, and the type of that key.
    [...] in the path stands for any key of a table; data : the tables of the file; kind : their schema
    """
    key = ""
    for name, index in STEP.findall(path):
        if index == "...":
            kind = get_args(kind)[1]
            name = next((k for k, value in data.items() if not fits(value, kind)), "")
        elif index:
            kind, data, key = (get_args(kind) or (Any,))[0], data[int(index)], f"{key}[{index}]"
        else:
            # the key that tells records apart is no field of theirs
            kind = get_type_hints(kind, include_extras=True).get(name, Any)
        if name:
            data, key = data.get(name), f"{key}.{name}" if key else name
        kind = plain_type(kind, data)
    return key, kind


def plain_type(kind: Any, data: object) -> Any:
    """Return a type without its limits (Annotated) and without None. Of a union, return the type that has
    keys, such as a record, since the path of an error leads into it.

    If several types have keys, the type that the data state is returned; if the data are a list, the list
    type.
    """
    if get_origin(kind) is Annotated:
        return plain_type(get_args(kind)[0], data)
    if get_origin(kind) in (Union, UnionType):
        choices = [plain_type(choice, data) for choice in get_args(kind) if choice is not type(None)]
        records = [choice for choice in choices if is_record(choice)]
        holders = [choice for choice in choices if isinstance(data, list) and get_args(choice)]
        tagged = next((record for record in records if is_tagged_as(record, data)), None)
        return tagged or (holders or records or choices)[0]
    return kind


def is_tagged_as(record: type[msgspec.Struct], data: object) -> bool:
    """Return whether the data state, by the value of the key that distinguishes kinds of records, that they
    are a record of this kind.
    """
    said = record.__struct_config__
    return isinstance(data, dict) and said.tag is not None and data.get(said.tag_field) == said.tag


def fits(value: object, kind: Any) -> bool:
    """Return whether a value of a config file can be converted to a type of its schema."""
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
