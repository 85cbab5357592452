"""Benchmark of the stoop lift of Millard et al. (2019) through the commands of rtsim: residual at the root,
L5/S1 moment, activations, and forward simulation.

It runs `rtsim analyse` on the markers and forces of the recording stoop2, `rtsim fit torque-generators` on
the results, and a forward simulation of the body driven by the activations that its motion needs
(rtsim/bench/contacts/stoop_forward).
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtsim.bench.contacts.stoop_forward import forward
from rtsim.bench.contacts.stoop_recording import BORNE_BY, l5s1_moments, markers_of, stoop_model, write_loads
from rtsim.bench.figures import BenchFigure, say
from rtsim.bench.markers.recordings import called
from rtsim.config.models.driven_generators_schema import DrivenGeneratorSpec
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.files.model_toml import model_text
from rtsim.files.output import write_text
from rtsim.files.recording import Results, read_results

FOLDER = Path("../shared/data/stoop_lift")
TRIAL = "stoop2"
LEFT_AT_ROOT = {
    "pelvis_x": (4.98, 3.95, "N"), "pelvis_y": (7.65, 3.67, "N"), "pelvis_tilt": (3.58, 2.51, "N m"),
}  # fmt: skip
"""Mean and standard deviation of the magnitude of the residual at the root in the authors' analysis."""
MOST_L5S1 = 5.5
"""Largest RMS difference from the laboratory's bottom-up moment [N m]."""
STARTS = {50: False, 55: False, 125: True, 130: True, 140: True}
"""Frames from which 0.2 s are simulated, and whether the hands hold the box."""
N_FRAME, MOST_DEG, MOST_ENERGY = 10, 1.0, 1e-3
"""Number of frames of a simulation; limits of its deviation from the motion [deg] and of the difference of
energy and work, as a fraction of the range of the energy."""
WRISTS = "wrist"


def run(folder: Path | None = None) -> list[BenchFigure]:
    """Return the benchmark results of the recorded stoop lift stoop2; raise ConfigError where the recording
    is missing or a command fails.

    folder : folder of the recording, None = the usual one
    """
    folder = folder or FOLDER
    if not markers_of(folder, TRIAL).is_file():
        raise ConfigError(
            f"the recording of the stoop lift is missing: {markers_of(folder, TRIAL).name}",
            where=str(folder),
            remedy="give the folder of the recording",
        )  # fmt: skip
    with TemporaryDirectory() as place:
        results, fitted = through_commands(folder, Path(place))
        figures = [*left_at_root(results), *l5s1(folder, results), *hip_extensor(*hip_of(results))]
        spec = msgspec.structs.replace(
            stoop_model(folder), torque_generators=DrivenGeneratorSpec(str(fitted))
        )
        return [*figures, *forward_again(spec, folder)]


def through_commands(folder: Path, place: Path) -> tuple[Results, Path]:
    """Run `rtsim analyse` and `rtsim fit torque-generators` on the stoop lift; return the results of the
    former, and the path of the fitted generators.

    folder : folder of the recording; place : folder for all written files
    """
    body, out, fitted = place / "body.toml", place / "out.mcap", place / "fitted.toml"
    write_text(body, model_text(stoop_model(folder)))
    write_text(place / "run.toml", BORNE_BY)
    write_loads(folder, TRIAL, place / "loads.mot")
    words = [
        ["analyse", str(markers_of(folder, TRIAL)), "--model", str(body), "--out", str(out),
         "--forces", str(place / "loads.mot"), "--config", str(place / "run.toml")],
        ["fit", "torque-generators", str(out), "--model", str(body), "--out", str(fitted)],
    ]  # fmt: skip
    for command in words:
        say(f"stoop lift: running rtsim {command[0]}")
        called(*command)
    if not fitted.is_file():
        raise ConfigError(
            "a command failed on the stoop lift",
            where=str(folder),
            remedy="read the line above, which says what failed",
        )
    return read_results(out), fitted


def left_at_root(results: Results) -> list[BenchFigure]:
    """Return the mean and the standard deviation of the magnitudes of the residual forces and moment that
    inverse dynamics finds at the pelvis.
    """
    figures = []
    for name, (mean, deviation, unit) in LEFT_AT_ROOT.items():
        left = np.abs(generalized_force(results, name))
        left = left[np.isfinite(left)]
        figures += [
            BenchFigure(f"root.{name}.mean", float(left.mean()), unit, mean, "lower"),
            BenchFigure(f"root.{name}.deviation", float(left.std()), unit, deviation, "lower"),
        ]
    return figures


def generalized_force(results: Results, name: str) -> NDArray[np.float64]:
    """Return (n,): generalized force of a coordinate, from whichever field of the results contains it [N, N
    m].
    """
    labels = {field.name: field.labels for field in results.session.fields}
    field = next(f for f in ("coordinate_moments", "coordinate_forces") if name in labels[f])
    return np.asarray(results.fields[field][:, labels[field].index(name)])


def l5s1(folder: Path, results: Results) -> list[BenchFigure]:
    """Return the RMS difference of the L5/S1 moment from the laboratory's, about the laboratory's L5/S1 and
    about the model's joint.
    """
    found = l5s1_moments(folder, TRIAL, results)
    place, joint = (
        float(np.sqrt(np.mean((one - found.bottom_up) ** 2))) for one in (found.at_place, found.at_joint)
    )
    return [
        BenchFigure("l5s1_rms.at_place", place, "N m", MOST_L5S1, "lower"),
        BenchFigure("l5s1_rms.at_joint", joint, "N m"),
    ]


def hip_of(results: Results) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the activation (n,) that the extensor of the right hip needs [1], and the flexion (n,) of the
    hip [rad].
    """
    labels = {field.name: field.labels for field in results.session.fields}
    column = labels["generator_activations"].index("hip_flexion_r_extensor")
    hip = labels["coordinates"].index("hip_flexion_r")
    return results.fields["generator_activations"][:, column], results.fields["coordinates"][:, hip]


def hip_extensor(activation: NDArray[np.float64], flexion: NDArray[np.float64]) -> list[BenchFigure]:
    """Return benchmark results on the activation that the right hip's extensor needs with its unfitted
    parameters: its largest value (Millard et al. 2019: 0.871), the hip flexion at which it first falls
    below 0 (81.4 degrees), and the largest hip flexion.

    activation : (n,) - NaN where it is not known; flexion : (n,) - flexion of the hip [rad]
    """
    angle, below = np.degrees(flexion), np.flatnonzero(activation < 0.0)
    return [
        BenchFigure("hip_extensor.largest_activation", float(np.nanmax(activation)), "1"),
        *([BenchFigure("hip_extensor.below_zero_from", float(angle[below[0]]), "deg")] if len(below) else []),
        BenchFigure("hip_flexion.largest", float(np.nanmax(angle)), "deg"),
    ]


def forward_again(spec: ModelSpec, folder: Path) -> list[BenchFigure]:
    """Simulate the lift from two instants for 0.2 s each. Return the deviations of the simulation from the
    motion that was fitted to the markers under constraints, and from the one fitted without constraints,
    and the difference of energy and work. Wrists are reported separately, as the points where the hands
    hold the box slide on it.
    """
    figures = []
    for first, holds_box in STARTS.items():
        say(f"stoop lift: simulating forward from {first / 50:.1f} s on")
        done = forward(spec, folder, first, N_FRAME, holds_box=holds_box)
        angles = [k for k, name in enumerate(done.names) if name not in ("pelvis_x", "pelvis_y")]
        off, free = (np.degrees(np.abs(one).max(axis=0)) for one in (done.off, done.off_free))
        wrists = [k for k in angles if done.names[k].startswith(WRISTS)]
        others = [k for k in angles if k not in wrists]
        gained = done.energy - done.energy[0]
        unbalanced = float(np.abs(gained - done.work).max() / np.ptp(gained))
        at = f"from_{first / 50:.1f}_s"
        figures += [
            BenchFigure(f"forward.off_deg.{at}", float(off[angles].max()), "deg", MOST_DEG, "lower"),
            BenchFigure(f"forward.off_markers_deg.{at}", float(free[others].max()), "deg", MOST_DEG, "lower"),
            BenchFigure(f"forward.off_markers_wrists_deg.{at}", float(free[wrists].max()), "deg"),
            BenchFigure(f"forward.energy_less_work.{at}", unbalanced, "of its range", MOST_ENERGY, "lower"),
        ]
    return figures
