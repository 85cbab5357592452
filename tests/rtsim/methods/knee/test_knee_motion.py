"""Motions of a knee from tables: the same poses whatever unit a header states."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rtsim.methods.knee.knee_motion import ANGLES, WAYS, read_knee_motion

N = 9
POSES = np.column_stack([np.linspace(0.0, 1.0, N), *(np.full((5, N), 0.01) * np.arange(1, 6)[:, None])])


def test_a_knee_is_the_same_in_every_unit(tmp_path: Path) -> None:
    """Protects fits of knees: degrees or radians of each column, millimetres or metres, as headers say."""
    t = 0.01 * np.arange(N)
    tables = {
        "rad.csv": ("rad", "m", 1.0, 1.0),
        "deg.csv": ("deg", "mm", 180.0 / np.pi, 1e3),
    }
    found = []
    for name, (angle, way, turn, move) in tables.items():
        heads = [f"{one} [{angle}]" for one in ANGLES] + [f"{one} [{way}]" for one in WAYS]
        rows = np.column_stack([t, turn * POSES[:, :3], move * POSES[:, 3:]])
        text = "\n".join(",".join(f"{x:.15g}" for x in row) for row in rows)
        (tmp_path / name).write_text(f"time [s],{','.join(heads)}\n{text}\n", encoding="utf-8")
        found.append(read_knee_motion(tmp_path / name, "right").poses)
    rows = np.column_stack([t, 180.0 / np.pi * POSES[:, :2], POSES[:, 2:]])
    text = "\n".join("\t".join(f"{x:.15g}" for x in row) for row in rows)
    head = f"k\ninDegrees=yes\ninRadians={ANGLES[2]}\nendheader\n"
    (tmp_path / "knee.mot").write_text(head + "\t".join(("time", *ANGLES, *WAYS)) + f"\n{text}\n")
    found.append(read_knee_motion(tmp_path / "knee.mot", "right").poses)
    for poses in found[1:]:
        for one, other in zip(found[0], poses, strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-12)
