"""Builders of synthetic files, and the folder of real recordings when it is there."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

SHARED = Path(__file__).resolve().parents[3] / ".." / "shared" / "data"


@pytest.fixture
def shared() -> Path:
    """The folder of real recordings next to the project; skips where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("no shared/data next to the project")
    return SHARED


@pytest.fixture
def trc_text() -> Callable[..., str]:
    """Text of a clean TRC file: 3 markers of a standing person in mm, Y up, 100 Hz; any part replaceable."""

    def build(
        names: tuple[str, ...] = ("RASI", "RKNE", "RHEE"),
        heights: tuple[float, ...] = (950.0, 500.0, 30.0),
        n_frame: int = 4,
        values: str | None = None,
        rows: list[str] | None = None,
        units: str = "mm",
        name_line: str | None = None,
        axis_line: str | None = None,
        blank: str = "\n",
        end: str = "\n",
    ) -> str:
        values = values or f"100\t100\t{n_frame}\t{len(names)}\t{units}\t100\t1\t{n_frame}"
        name_line = name_line or "Frame#\tTime\t" + "\t\t\t".join(names) + "\t\t"
        axis_line = axis_line or "\t\t" + "\t".join(f"X{i}\tY{i}\tZ{i}" for i in range(1, len(names) + 1))
        if rows is None:
            rows = [
                f"{i + 1}\t{i / 100:.3f}\t"
                + "\t".join(f"{10.0 * i + 1.0:.3f}\t{h + i:.3f}\t{-20.0:.3f}" for h in heights)
                for i in range(n_frame)
            ]
        head = (
            "PathFileType\t4\t(X/Y/Z)\ttrial.trc\n"
            "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames\n"
        )
        text = head + values + "\n" + name_line + "\n" + axis_line + "\n" + blank + "\n".join(rows) + "\n"
        return text.replace("\n", end)

    return build


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write a text to a file of this name and give its path; line ends stay as they are."""

    def to_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode("utf-8"))
        return path

    return to_file


@pytest.fixture
def make_c3d(tmp_path: Path) -> Callable[..., Path]:
    """Write a C3D file from labels and points (n, n_point, 3) in file units."""

    def build(
        labels: list[str],
        points: np.ndarray,
        *,
        rate: float = 100.0,
        first_frame: int = 0,
        units: str = "mm",
        screen: tuple[str, str] | None = ("+X", "+Z"),
        missing: np.ndarray | None = None,
        groups: dict[str, list[str]] | None = None,
        company: str = "",
        processing: dict[str, float] | None = None,
        order: str = "<",
    ) -> Path:
        point: dict[str, object] = {"UNITS": [units], "RATE": rate, "USED": points.shape[1], "SCALE": -0.1}
        point["FRAMES"] = points.shape[0]
        point["LABELS"] = labels[:255]
        if labels[255:]:
            point["LABELS2"] = labels[255:]
        if screen:
            point["X_SCREEN"], point["Y_SCREEN"] = [screen[0]], [screen[1]]
        point.update(groups or {})
        ends = {
            "ACTUAL_START_FIELD": (first_frame + 1, 0),
            "ACTUAL_END_FIELD": (first_frame + points.shape[0], 0),
        }
        parameters: dict[str, dict[str, object]] = {"POINT": point, "TRIAL": dict(ends)}
        if company:
            parameters["MANUFACTURER"] = {"COMPANY": [company]}
        if processing:
            parameters["PROCESSING"] = dict(processing)
        path = tmp_path / "trial.c3d"
        path.write_bytes(c3d_bytes(points, missing, rate, first_frame, parameters, order))
        return path

    return build


def c3d_bytes(
    points: np.ndarray,
    missing: np.ndarray | None,
    rate: float,
    first_frame: int,
    parameters: dict[str, dict[str, object]],
    order: str,
    analogs: np.ndarray | None = None,
    scale: float = -0.1,
) -> bytes:
    """A C3D file in byte order "<" or ">", written from the format's definition.

    analogs : (n, n_sub, n_channel) as stored, before offset and scale
    scale : of points in whole numbers of 16 bits; negative = floating-point data
    """
    records = b""
    for number, (group, members) in enumerate(parameters.items(), start=1):
        records += c3d_record(group, -number, b"\0", order)
        for name, value in members.items():
            records += c3d_record(name, number, c3d_value(value, order) + b"\0", order)
    records += b"\0\0"
    n_block = -(-(4 + len(records)) // 512)
    section = (struct.pack("BBBB", 1, 0x50, n_block, 84 if order == "<" else 86) + records).ljust(
        512 * n_block, b"\0"
    )
    n_frame, n_point = points.shape[:2]
    analogs = np.zeros((n_frame, 0, 0)) if analogs is None else analogs
    n_sub, n_value = analogs.shape[1], analogs.shape[1] * analogs.shape[2]
    first, last = first_frame + 1, first_frame + n_frame
    header = struct.pack(
        f"{order}BBHHHHHfHHf", 2, 0x50, n_point, n_value, first, last, 10, scale, 2 + n_block, n_sub, rate
    )
    data = np.zeros((n_frame, n_point, 4), dtype=f"{order}f4")
    data[..., :3] = points / (scale if scale > 0.0 else 1.0)
    if missing is not None:
        data[missing, 3] = -1.0
    rows = np.concatenate([data.reshape(n_frame, -1), analogs.reshape(n_frame, -1)], axis=1)
    words = rows.round().astype(np.int64).astype(f"{order}u2") if scale > 0.0 else rows.astype(f"{order}f4")
    return header.ljust(512, b"\0") + section + words.tobytes()


def c3d_record(name: str, group: int, content: bytes, order: str) -> bytes:
    """A group (negative id, content = description) or parameter record."""
    return (
        struct.pack("bb", len(name), group)
        + name.encode()
        + struct.pack(f"{order}H", 2 + len(content))
        + content
    )


def c3d_value(value: object, order: str) -> bytes:
    """Type, dimensions and data of a parameter: texts, whole numbers, a float, or an array of floats."""
    if isinstance(value, np.ndarray):
        head = struct.pack(f"bB{value.ndim}B", 4, value.ndim, *value.shape)
        return head + np.ravel(value, order="F").astype(f"{order}f4").tobytes()
    if isinstance(value, list):
        width = max((len(text) for text in value), default=0)
        return struct.pack("bBBB", -1, 2, width, len(value)) + b"".join(
            t.encode().ljust(width) for t in value
        )
    if isinstance(value, tuple):
        return struct.pack(f"{order}bBB{len(value)}h", 2, 1, len(value), *value)
    if isinstance(value, int):
        return struct.pack(f"{order}bBh", 2, 0, value)
    return struct.pack(f"{order}bBf", 4, 0, value)
