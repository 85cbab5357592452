"""Surfaces from files: three formats, one surface; every fault in one sentence that says what to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.surfaces.surfaces import TriangleSurface, check_surface, obj_text, read_surface, welded
from rtsim.models.shapes import ball, plate

BALL = ball(0.03, 6, 8)


def write_stl(path: Path, surface: TriangleSurface, scale: float) -> None:
    """Text, each triangle with corners of its own."""
    lines = ["solid ball"]
    for corners in scale * surface.vertices[surface.triangles]:
        lines += [
            "facet normal 0 0 0",
            "outer loop",
            *(f"vertex {x:.9g} {y:.9g} {z:.9g}" for x, y, z in corners),
        ]
        lines += ["endloop", "endfacet"]
    path.write_text("\n".join([*lines, "endsolid ball", ""]))


def write_obj(path: Path, surface: TriangleSurface, scale: float) -> None:
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in scale * surface.vertices]
    path.write_text("\n".join(lines + [f"f {a} {b} {c}" for a, b, c in surface.triangles + 1]) + "\n")


def write_ply(path: Path, surface: TriangleSurface, scale: float) -> None:
    head = ["ply", "format ascii 1.0", f"element vertex {len(surface.vertices)}"]
    head += [f"property float {x}" for x in "xyz"]
    head += [f"element face {len(surface.triangles)}", "property list uchar int vertex_indices", "end_header"]
    rows = [f"{x:.9g} {y:.9g} {z:.9g}" for x, y, z in scale * surface.vertices]
    path.write_text("\n".join(head + rows + [f"3 {a} {b} {c}" for a, b, c in surface.triangles]) + "\n")


@pytest.mark.parametrize(("suffix", "write"), [("stl", write_stl), ("obj", write_obj), ("ply", write_ply)])
@pytest.mark.parametrize(("unit", "scale"), [("mm", 1e3), ("m", 1.0)])
def test_three_formats_give_one_surface(tmp_path, suffix, write, unit, scale) -> None:
    """Protects units, and the corners of an STL file's triangles, which are one vertex each."""
    path = tmp_path / f"ball.{suffix}"
    write(path, BALL, scale)
    found = read_surface(path, unit)
    assert (len(found.vertices), len(found.triangles)) == (len(BALL.vertices), len(BALL.triangles))
    corners = BALL.vertices[BALL.triangles]
    assert found.vertices[found.triangles] == pytest.approx(corners, abs=1e-8)


def test_a_file_that_is_inside_out_can_be_flipped(tmp_path) -> None:
    """Protects the remedy that the sentence names."""
    path = tmp_path / "ball.obj"
    write_obj(path, TriangleSurface(BALL.vertices, BALL.triangles[:, ::-1]), 1e3)
    with pytest.raises(ConfigError, match="inside out; reverse the normals"):
        read_surface(path)
    assert len(read_surface(path, flipped=True).triangles) == len(BALL.triangles)


FAN = TriangleSurface(
    1e-2 * np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, -1, 0]]),
    np.array([[0, 1, 2], [0, 1, 3], [0, 1, 4]]),
)
TWISTED = TriangleSurface(FAN.vertices, np.array([[0, 1, 2], [0, 1, 4]]))
NEEDLE = TriangleSurface(
    1e-2 * np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0]]), np.array([[0, 1, 2], [0, 1, 3]])
)


@pytest.mark.parametrize(("surface", "unit", "sentence"), [
    (
        TriangleSurface(np.zeros((0, 3)), np.zeros((0, 3), np.int64)),
        "m",
        "empty: it has no triangles; export",
    ),
    (TriangleSurface(1e-3 * BALL.vertices, BALL.triangles), "mm", 'the unit is wrong; give unit = "m"'),
    (TriangleSurface(1e3 * BALL.vertices, BALL.triangles), "m", 'the unit is wrong; give unit = "mm"'),
    (TriangleSurface(np.nan * BALL.vertices, BALL.triangles), "m", "not finite numbers"),
    (FAN, "m", "not manifold: 1 edges have more than two"),
    (TWISTED, "m", "the two triangles have opposite normals; make"),
    (NEEDLE, "m", "1 triangles have no area; remesh"),
])  # fmt: skip
def test_what_is_wrong_is_one_sentence(surface, unit, sentence) -> None:
    """Protects users from surfaces that press wrongly in silence."""
    with pytest.raises(ConfigError, match=sentence) as caught:
        check_surface(surface, "femur.stl", unit)
    assert str(caught.value).startswith("femur.stl: ")
    assert "\n" not in str(caught.value)


def test_files_that_are_no_surface_are_refused(tmp_path) -> None:
    """Protects from damage, foreign formats and files of none."""
    for name, text, sentence in (
        ("a.ply", "ply\nformat ascii 1.0\nelement vertex x\n", "not a readable PLY"),
        ("a.step", "", ".stl, .obj, .ply"),
        ("a.stl", "", "a.stl: "),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(ConfigError, match=sentence):
            read_surface(tmp_path / name)
    with pytest.raises(ConfigError, match="no such file"):
        read_surface(tmp_path / "none.stl")


def test_damage_is_not_called_a_missing_package(tmp_path) -> None:
    """Protects from installing what would not help: bytes of no surface are the file's fault."""
    (tmp_path / "bytes.stl").write_bytes(bytes(range(256)) * 4)
    with pytest.raises(ConfigError, match=r"bytes.stl: ") as caught:
        read_surface(tmp_path / "bytes.stl")
    assert "No module" not in str(caught.value)


def test_an_open_surface_is_no_fault() -> None:
    """Protects cartilage, which ends somewhere."""
    check_surface(welded(*plate(0.1, 0.1, 3)), "plate")


def test_a_surface_is_read_as_it_was_written(tmp_path) -> None:
    """Protects what rtsim writes for itself: the same places and triangles, to the last digit."""
    surface = ball(0.01, 6, 7)
    (tmp_path / "a.obj").write_text(obj_text(surface), encoding="ascii")
    found = read_surface(tmp_path / "a.obj", "m")
    here, there = (one.vertices[one.triangles].reshape(-1, 9) for one in (surface, found))
    np.testing.assert_array_equal(np.sort(here.sum(axis=1)), np.sort(there.sum(axis=1)))
    assert len(found.vertices) == len(surface.vertices)
