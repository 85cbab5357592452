"""A mandible from a scan and a reference trial: frame, markers, surfaces, and what is refused."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rtsim.config.models.jaw_scan_schema import JawScan
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.files.surfaces.surfaces import obj_text
from rtsim.models.jaw.jaw_scan import RigidMotion, frame_of, model_of, registered, surfaces_of
from rtsim.models.jaw.jaw_scan_checks import check_surfaces
from rtsim.models.jaw.jaw_surfaces import condyle, fossa
from rtsim.models.load import load_model

SPEC = load_model("mandible")
NAMES = tuple(marker.name for marker in SPEC.markers)
TRUTH = {marker.name: 1e-3 * np.array(marker.offset_mm) for marker in SPEC.markers}
OF_SCAN = RigidMotion(Rotation.from_rotvec([0.4, -1.1, 0.7]).as_matrix(), np.array([0.1, -0.2, 0.05]))
"""From the head's frame to the scan's."""
SKIN = {
    "nose": (0.11, 0.0, 0.0),
    "right_ear": (-0.01, 0.02, 0.07),
    "left_ear": (-0.01, 0.02, -0.07),
    "brow": (0.1, 0.04, 0.01),
}


def in_scan(x) -> tuple[float, ...]:
    """A place of the head [m] in the scan [mm]."""
    return tuple((1e3 * OF_SCAN.of(np.array(x))).tolist())


LANDMARKS = {
    "right_condyle": in_scan((0.0, 0.001, 0.048)),
    "left_condyle": in_scan((0.0, -0.001, -0.048)),
    "right_porion": in_scan((-0.012, 0.003, 0.06)),
    "left_porion": in_scan((-0.012, 0.003, -0.06)),
    "left_orbitale": in_scan((0.07, 0.003, -0.03)),
}
SCAN = JawScan(landmarks=LANDMARKS, markers={name: in_scan(x) for name, x in SKIN.items()})


def trial(noise_m: float = 0.0) -> MarkerTrial:
    """A head that turns a little, its teeth together."""
    rng, names = np.random.default_rng(0), (*NAMES, *SKIN)
    own = np.array([*TRUTH.values(), *SKIN.values()])
    turns = Rotation.from_rotvec(np.outer(np.linspace(0.0, 0.2, 50), [0.3, 1.0, 0.1])).as_matrix()
    x = np.einsum("fij,mj->fmi", turns, own)
    x += np.array([0.5, 1.2, -0.3]) + noise_m * rng.standard_normal(x.shape)
    x[7, 3] = np.nan
    return MarkerTrial(names, 0.01 * np.arange(50), x, 100.0, "still.trc")


def test_the_frame_is_that_of_the_frankfurt_plane() -> None:
    """Protects axes: level with the plane, to the right along the condyles, origin midway between them."""
    frame = frame_of(SCAN, "head.toml")
    np.testing.assert_allclose(frame.R @ OF_SCAN.R, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(frame.of(1e-3 * np.array(in_scan((0.0, 0.0, 0.0)))), 0.0, atol=1e-12)


def test_markers_are_where_they_were_put() -> None:
    """Protects registration: exact without noise; with noise near, and residuals of the noise's size."""
    frame = frame_of(SCAN, "head.toml")
    for noise, within in ((0.0, 1e-12), (3e-4, 5e-4)):
        found = registered(SCAN, frame, trial(noise), NAMES, "head.toml")
        assert found.n_frame == 49
        for name, place in TRUTH.items():
            np.testing.assert_allclose(found.places[name], place, atol=within)
        assert all(mm <= 1e3 * noise * np.sqrt(3.0) + 1e-9 for mm in found.residual_mm.values())
    assert min(found.residual_mm.values()) > 0.1


def test_the_model_has_them_and_stands_on_the_scans_condyles() -> None:
    """Protects the model: markers, planes and contacts on the condyles, 2 mm nearer than those shipped."""
    frame = frame_of(SCAN, "head.toml")
    spec = model_of(SPEC, SCAN, frame, registered(SCAN, frame, trial(), NAMES, "head.toml").places)
    for marker in spec.markers:
        np.testing.assert_allclose(marker.offset_mm, 1e3 * TRUTH[marker.name], atol=1e-3)
    for old, new in zip((*SPEC.elements, *SPEC.contacts), (*spec.elements, *spec.contacts), strict=True):
        shift = {"right": (0.0, 1.0, -2.0), "left": (0.0, -1.0, 2.0)}.get(new.name.split("_")[0], (0.0,) * 3)
        for was, now in ((old.a, new.a), (old.b, new.b)):
            np.testing.assert_allclose(np.subtract(now.offset_mm, was.offset_mm), shift, atol=2e-3)
    assert spec.muscles == SPEC.muscles


def test_a_fossa_that_is_missing_is_the_others_mirror_image(tmp_path) -> None:
    """Protects real scans: of symmetrical surfaces the mirrored fossa is the one that was left out."""
    scan_frame = RigidMotion(OF_SCAN.R.T, -OF_SCAN.R.T @ OF_SCAN.shift)
    surfaces = {}
    for name, surface in (
        ("left_condyle", condyle("left")),
        ("right_condyle", condyle("left")),
        ("left_fossa", fossa("left")),
    ):
        x = surface.vertices * ([1.0, 1.0, -1.0] if name == "right_condyle" else [1.0, 1.0, 1.0])
        triangles = surface.triangles[:, ::-1] if name == "right_condyle" else surface.triangles
        text = obj_text(surface._replace(vertices=1e3 * OF_SCAN.of(x), triangles=triangles))
        (tmp_path / f"{name}.obj").write_text(text)
        surfaces[name] = f"{name}.obj"
    scan = msgspec.structs.replace(SCAN, surfaces=surfaces)
    found, notes = surfaces_of(scan, scan_frame, tmp_path / "head.toml")
    assert "right_fossa: the mirror image of that of the other side" in notes[0]
    expected = fossa("left").vertices * [1.0, 1.0, -1.0]
    there = found["right_fossa"].vertices
    np.testing.assert_allclose(there.min(axis=0), expected.min(axis=0), atol=1e-5)
    np.testing.assert_allclose(there.max(axis=0), expected.max(axis=0), atol=1e-5)
    with pytest.raises(ConfigError, match="no right_fossa, left_fossa"):
        surfaces_of(
            msgspec.structs.replace(scan, surfaces={k: v for k, v in surfaces.items() if "fossa" not in k}),
            scan_frame, tmp_path / "head.toml",
        )  # fmt: skip


def test_what_is_missing_is_told() -> None:
    """Protects from a model of nothing: landmarks, markers, frames, points on a line, one sentence each."""
    less = {name: x for name, x in LANDMARKS.items() if name != "left_orbitale"}
    with pytest.raises(ConfigError, match="no left_orbitale"):
        frame_of(msgspec.structs.replace(SCAN, landmarks=less), "head.toml")
    line = {**LANDMARKS, "left_orbitale": in_scan((-0.012, 0.003, 0.01))}
    with pytest.raises(ConfigError, match="porions and orbitale are fewer than three, or nearly on a line"):
        frame_of(msgspec.structs.replace(SCAN, landmarks=line), "head.toml")
    frame, still = frame_of(SCAN, "head.toml"), trial()
    others = tuple(name.replace("lower_top_left", "x") for name in still.names)
    with pytest.raises(ConfigError, match="the marker lower_top_left is missing"):
        registered(SCAN, frame, still._replace(names=others), NAMES, "head.toml")
    typo = {**LANDMARKS, "left_orbital": LANDMARKS["left_orbitale"]}
    with pytest.raises(ConfigError, match="unknown landmark left_orbital; allowed: right_condyle"):
        frame_of(msgspec.structs.replace(SCAN, landmarks=typo), "head.toml")
    with np.errstate(all="raise"):  # of no markers there is no mean
        for few in (("nose", "brow"), ()):
            markers = {name: SCAN.markers[name] for name in few}
            with pytest.raises(ConfigError, match="the markers of the scan are fewer than three"):
                registered(msgspec.structs.replace(SCAN, markers=markers), frame, still, NAMES, "head.toml")
    hidden = still.positions.copy()
    hidden[:, 0] = np.nan
    with pytest.raises(ConfigError, match="no frame shows all markers"):
        registered(SCAN, frame, still._replace(positions=hidden), NAMES, "head.toml")


def test_what_cannot_be_one_head_is_refused() -> None:
    """Protects from a model of another unit, side or marker: each gave a mandible far from its markers."""
    sides = {
        "right_condyle": LANDMARKS["left_condyle"], "left_condyle": LANDMARKS["right_condyle"],
        "right_porion": LANDMARKS["left_porion"], "left_porion": LANDMARKS["right_porion"],
    }  # fmt: skip
    for exchanged in (sides, {k: v for k, v in sides.items() if "porion" in k}):
        with pytest.raises(ConfigError, match="right and left are exchanged"):
            frame_of(msgspec.structs.replace(SCAN, landmarks={**LANDMARKS, **exchanged}), "head.toml")
    one = {**LANDMARKS, "right_condyle": LANDMARKS["left_condyle"]}
    with pytest.raises(ConfigError, match="condyles lie 0 mm apart"):
        frame_of(msgspec.structs.replace(SCAN, landmarks=one), "head.toml")
    with pytest.raises(ValueError, match="nan is out of range"):
        msgspec.convert({**msgspec.to_builtins(SCAN), "markers": {"nose": [np.nan, 0.0, 0.0]}}, JawScan)
    mirror = {name: (-x, y, z) for name, (x, y, z) in SCAN.markers.items()}
    others = {**SCAN.markers, "nose": SCAN.markers["brow"], "brow": SCAN.markers["nose"]}
    for wrong in (
        msgspec.structs.replace(SCAN, unit="cm"),
        msgspec.structs.replace(SCAN, markers=mirror),
        msgspec.structs.replace(SCAN, markers=others),
    ):
        with pytest.raises(ConfigError, match=r"of the scan lies .* mm RMS from its position in the trial"):
            registered(wrong, frame_of(wrong, "head.toml"), trial(), NAMES, "head.toml")


def test_surfaces_lie_at_their_condyle_and_turn_their_outsides_to_each_other() -> None:
    """Protects from surfaces of the other side or other axes, and from open ones that are inside out."""
    tops = {side: np.array([0.0, 0.0, z]) for side, z in (("right", 0.05), ("left", -0.05))}
    right = {"right_condyle": condyle("right"), "right_fossa": fossa("right")}
    check_surfaces({**right, "left_condyle": condyle("left")}, tops, "head.toml")
    with pytest.raises(ConfigError, match=r"left_condyle lies 9.* mm from the landmark left_condyle"):
        check_surfaces({"left_condyle": condyle("right")}, tops, "head.toml")
    for name, surface in right.items():
        turned = surface._replace(triangles=surface.triangles[:, ::-1])
        with pytest.raises(ConfigError, match=f"the inner side of {name} faces right_"):
            check_surfaces({**right, name: turned}, tops, "head.toml")
