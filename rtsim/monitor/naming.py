"""Names for the contents of a session descriptor: labels, panels of the same joint, and bones of the stick
figure.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.both_sides_schema import SUFFIXES
from rtsim.monitor.words import printable

if TYPE_CHECKING:
    from streams.messages import FieldSpec

SIDE_WORDS = {suffix: f" {side}" for side, suffix in SUFFIXES.items()}
STICKS_MOST = 2000  # lines of the figure


def labels_of(spec: FieldSpec, n_most: int) -> tuple[str, ...]:
    """Return labels for the entries along the first axis of a field, at most n_most: those of the descriptor,
    else numbers from 1.
    """
    n = spec.shape[0] if spec.shape else 0
    if spec.labels and len(spec.labels) == n:
        return tuple(printable(label) for label in spec.labels[:n_most])
    return tuple(str(i + 1) for i in range(min(n, n_most)))


def spoken(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return names with spaces instead of underscores."""
    return tuple(label.replace("_", " ") for label in labels)


def below(title: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of curves shortened by the title of their panel, if every name begins with that
    title.
    """
    start = f"{title.lower()} "
    if not all(name.lower().startswith(start) and name[len(start) :] for name in names):
        return names
    return tuple(name[len(start) :] for name in names)


def joints(labels: tuple[str, ...]) -> list[tuple[str, list[int], tuple[str, ...]]]:
    """Group the labels of angles by joint; return title, indices and names of the movements of each joint."""
    if not _named_by_joint(labels):
        return [("Joint angles", list(range(len(labels))), spoken(labels))]
    groups: dict[str, list[int]] = {}
    for i, label in enumerate(labels):
        joint, _, movement = label.partition("_")
        title = f"{joint}{SIDE_WORDS.get(label[-2:], '')}" if movement else "joint angles"
        groups.setdefault(title, []).append(i)
    return [
        (joint.capitalize(), entries, tuple(_movement(labels[i]) for i in entries))
        for joint, entries in groups.items()
    ]


def _named_by_joint(labels: tuple[str, ...]) -> bool:
    """Return whether the labels of angles begin with the name of a joint, as hip_flexion does and
    internal_rotation does not.
    """
    named = Counter(label.partition("_")[0] for label in labels if "_" in label)
    return named.total() == len(labels) or max(named.values(), default=0) > 1


def _movement(label: str) -> str:
    joint, _, movement = label.partition("_")
    if movement[-2:] in SIDE_WORDS:  # the title says it
        movement = movement[:-2]
    return (movement or joint).replace("_", " ")


def bones(pairs: Any, names: tuple[str, ...], n_kept: int) -> NDArray[np.intp]:
    """Return the pairs of indices of joint centres that are connected in the stick figure, (n, 2), among the
    first `n_kept` centres.

    pairs : list of pairs of names in the descriptor; without it, each centre is connected with the next
    names : names of the joint centres

    Pairs with unknown names are left out, as the sender may be any program.
    """
    if not isinstance(pairs, list | tuple):
        found = [(i, i + 1) for i in range(min(n_kept, STICKS_MOST) - 1)]
        return np.array(found, dtype=np.intp).reshape(-1, 2)
    number = {name: i for i, name in reversed(list(enumerate(names[:n_kept])))}
    found = []
    for pair in pairs[:STICKS_MOST]:
        if isinstance(pair, list | tuple) and len(pair) == 2 and all(isinstance(end, str) for end in pair):
            ends = number.get(printable(pair[0])), number.get(printable(pair[1]))
            if ends[0] is not None and ends[1] is not None:
                found.append((ends[0], ends[1]))
    return np.array(found, dtype=np.intp).reshape(-1, 2)
