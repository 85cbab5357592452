"""`rtsim calibrate --scan`: from a scan's file and a reference trial to a model that is read again."""

from __future__ import annotations

import msgspec
import numpy as np
from click.testing import CliRunner

from rtsim.cli.main import cli
from rtsim.files.surfaces.surfaces import obj_text
from rtsim.files.toml_text import entries, entry
from rtsim.models.jaw.jaw_surfaces import condyle, fossa
from rtsim.models.load import load_model
from tests.rtsim.models.jaw.test_jaw_scan import OF_SCAN, SCAN, TRUTH, trial


def write_trc(path) -> None:
    """The reference trial, Y up, in millimetres."""
    found = trial()
    n, names = len(found.times), found.names
    head = ["PathFileType\t4\t(X/Y/Z)\tstill.trc", "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits",
            f"100\t100\t{n}\t{len(names)}\tmm", "Frame#\tTime\t" + "\t\t\t".join(names),
            "\t\t" + "\t".join(f"X{k}\tY{k}\tZ{k}" for k in range(1, len(names) + 1)), ""]  # fmt: skip
    rows = [
        "\t".join([str(k + 1), f"{found.times[k]:.4f}", *("" if np.isnan(v) else repr(v) for v in row)])
        for k, row in enumerate((1e3 * found.positions).reshape(n, -1).tolist())
    ]
    path.write_text("\n".join(head + rows) + "\n")


def test_a_mandible_is_written_and_read_again(tmp_path, monkeypatch) -> None:
    """Protects the way from files to a model: markers, contacts of surfaces, sentences; no file replaced."""
    monkeypatch.chdir(tmp_path)
    write_trc(tmp_path / "still.trc")
    surfaces = {}
    for name, surface in (
        ("left_condyle", condyle("left")),
        ("right_condyle", condyle("right")),
        ("left_fossa", fossa("left")),
    ):
        (tmp_path / f"{name}.obj").write_text(
            obj_text(surface._replace(vertices=1e3 * OF_SCAN.of(surface.vertices)))
        )
        surfaces[name] = f"{name}.obj"
    tables = {k: v for k, v in msgspec.to_builtins(SCAN).items() if v and isinstance(v, dict)}
    lines = [entry("source", "a made-up head")]
    for name, table in {**tables, "surfaces": surfaces}.items():
        lines += [f"[{name}]", *entries(table)]
    (tmp_path / "head.toml").write_text("\n".join(lines))
    words = ("calibrate", "still.trc", "--scan", "head.toml", "--out", "own.toml")
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    for told in (
        "right_fossa: the mirror image of that of the other side",
        "nose: 0.00 mm RMS",
        "49 frames",
        "muscles, the ligaments",
    ):
        assert told in " ".join(done.output.split()), told
    spec = load_model("own.toml")
    assert [contact.name for contact in spec.contacts] == ["right", "left"]
    for marker in spec.markers:
        np.testing.assert_allclose(marker.offset_mm, 1e3 * TRUTH[marker.name], atol=2e-3)
    assert "a made-up head" in (tmp_path / "own.toml").read_text()
    again = CliRunner().invoke(cli, words)
    assert again.exit_code != 0
    for contact in spec.contacts:  # a scan's condyles are rough
        assert not contact.surface_a.by_vertices
        assert contact.surface_b.by_vertices
        assert contact.surface_b.own_normals
    for option in (("--lab", "gait"), ("--model", "mandible"), ("--hip", "bell1990"), ("--anyway",)):
        other = CliRunner().invoke(cli, (*words, *option))
        assert other.exit_code != 0
        assert (
            f"{option[0]}: the option applies only to the calibration of a person"
            in f"{other.output} {other.exception}"
        )
    (tmp_path / "points.landmarkAscii").write_text("# AmiraMesh 3D ASCII 2.0\n")
    for wrong, told in (
        (("--scan", "points.landmarkAscii"), "copy points from other files into this file as NAME"),
        (("--out", "head.toml", "--force"), "would replace a file from which it is made"),
    ):
        other = CliRunner().invoke(cli, (*words, *wrong))
        assert other.exit_code != 0
        assert told in f"{other.output} {other.exception}"
    (tmp_path / "head.toml").write_text("[landmarks]\n[markers]\n")
    refused = CliRunner().invoke(cli, (*words, "--force"))
    assert refused.exit_code != 0
    assert "right_condyle, left_condyle" in str(refused.exception or refused.output) + refused.output
