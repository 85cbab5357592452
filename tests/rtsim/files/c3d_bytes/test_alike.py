"""Whether results belong to a C3D file: their markers are found in it, whatever prefixes it has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from rtsim.errors import ConfigError
from rtsim.files.c3d_bytes.source import C3dSource, open_source
from rtsim.files.c3d_bytes.write import check_alike, is_of_another
from rtsim.files.markers.axes import ROTATIONS
from rtsim.files.recording import Results
from streams.messages import FieldSpec
from tests.rtsim.files.c3d_bytes.results import results_of, source_file


def partly_named(folder: Path, new: dict[str, str]) -> C3dSource:
    """A file with six markers, some of whose labels are replaced by others of the same length."""
    path = source_file(folder, n_point=6)
    data = path.read_bytes()
    for old, label in new.items():
        data = data.replace(old.encode(), label.encode())
    path.write_bytes(data)
    return open_source(path)


def solved(source: C3dSource, names: tuple[str, ...], person: str, off: float = 0.0) -> Results:
    """Results with the markers of a file, under these names, moved apart by `off` [m] each."""
    results = results_of((source.first + np.arange(source.n_frame)) / source.rate)
    positions = source.scale * source.content.points[:, : len(names)] @ ROTATIONS[source.up].T
    positions[:, 1:] += off * np.arange(1, len(names))[:, None]
    spec = FieldSpec("markers_measured", (len(names), 3), "m", names, frame="ground")
    meta = {**results.session.meta, "person": person}
    session = structs.replace(results.session, fields=(*results.session.fields, spec), meta=meta)
    return results._replace(session=session, fields={**results.fields, "markers_measured": positions})


@pytest.mark.parametrize("person", ["", "A"])
@pytest.mark.parametrize(
    "new", [{"P0  ": "A:W0"}, {"RASI": "A:SI"}, {"RASI": "A:SI", "RKNE": "A:NE", "RHEE": "A:EE"}]
)
@pytest.mark.parametrize("bare", [False, True])
def test_a_prefix_of_some_labels_hides_no_marker(
    tmp_path: Path, new: dict[str, str], person: str, bare: bool
) -> None:
    """Protects events and date of a file with a prefix before some of its labels alone, and a copy of it with
    results; another recording with the same labels is still refused."""
    source = partly_named(tmp_path, new)
    names = tuple(label.rpartition(":")[2] if bare else label for label in source.labels[:4])
    own, other = solved(source, names, person), solved(source, names, person, 0.05)
    assert not is_of_another(own, source)
    check_alike(own, source, "out.c3d")
    assert is_of_another(other, source)
    with pytest.raises(ConfigError, match="were not computed from"):
        check_alike(other, source, "out.c3d")
