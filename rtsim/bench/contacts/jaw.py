"""Both models of the mandible's joint, a point-on-plane constraint and force-dependent kinematics (FDK), on
the same motion: tables 1 and 2 of Andersen et al. (2017).

The synthetic jaw replaces the measurement: the computed positions of the condyles are compared with the true
ones, and the contact forces of the two models with each other. Magnitude and phase are the errors of Sprague
and Geers: magnitude 0 means equal, phase 0 equal and 1 opposite. Results are means over up to five cycles,
each compared by itself. Published results are delayed by the filter, so they are compared with the motion at
the delayed time.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from rtsim.bench.figures import BenchFigure, say
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.config.runs.choices import load_run
from rtsim.config.runs.rate_schema import ButterworthSpec
from rtsim.files.recording import Results
from rtsim.live.inputs.recorded import KeptResults, RecordingInput
from rtsim.live.loop import Loop
from rtsim.methods.agreement import Agreement, cycles_of, humps, opening_over_closing, over_cycles
from rtsim.methods.kinematics.rates import response
from rtsim.models.load import load_model
from rtsim.stages.building.find import make_stages
from rtsim.subjects.made_up.jaw import CONDYLE_M, TASKS, jaw_in_skull, move_jaw

Array = NDArray[np.float64]

MODEL, RATE = "mandible", 100.0
SIDES, AXES = ("left", "right"), ("ap", "si", "ml")
"""Axes of the skull: forwards, up, to the right."""
FLATTER_DEG = (-20.0, -10.0, 10.0, 20.0)
"""Angles by which the fossae of the FDK model are flattened against the planes [deg]."""
STIFFNESSES_N_M, USUAL_N_M, STRAINS = (136.2, 272.4, 544.8), 272.4, (-0.04, -0.02, 0.0, 0.02, 0.04)
"""Ligaments in the 15 runs of the paper: stiffnesses of the ligament of a side, the usual one, and reference
strains."""
N_PHASE = 101
"""Number of phases at which cycles are compared."""
SETTLED_S, WITHIN_MM = 1.0, 2.0
"""Time at which the first cycle begins [s]; largest distance of condyles from the truth [mm]."""


def run(seconds: float = 10.0) -> list[BenchFigure]:
    """Return tables 1 and 2 of Andersen et al. (2017), and variations of them, as benchmark results for all
    tasks (chewing, protrusion, opening): root mean square difference [mm, N], squared correlation, and errors
    of magnitude and phase.

    seconds : duration of the synthetic motion of each task [s]
    """
    found: list[BenchFigure] = []
    for task in TASKS:
        say(f"jaw: {task}")
        by_model = {name: results(task, name, seconds) for name in ("fdk", "pop")}
        found += table_1(task, by_model) + table_2(task, by_model) + by_slope(task, by_model["pop"], seconds)
        found += by_ligament(task, by_model["fdk"], seconds)
        for name, own in by_model.items():
            found += shapes(task, name, own)
    return found


def results(
    task: str, joint: str, seconds: float, flatter_deg: float = 0.0, spec: ModelSpec | None = None
) -> Results:
    """Run the live loop on the markers of the synthetic jaw in a task, with one joint model, and return the
    results.

    task : chewing, protrusion or opening; joint : "fdk" or "pop", force-dependent kinematics or point on
        plane; seconds : duration of the task [s]
    flatter_deg : angle by which the fossae are flattened [deg]; spec : another mandible than the shipped one
    """
    setting, kept = load_run(find_config(MODEL, "runs"), [f"joint={joint}"]), KeptResults()
    spec = with_slope(spec or load_model(MODEL), flatter_deg)
    Loop(RecordingInput(move_jaw(spec, task, seconds)), make_stages(setting, spec, None), kept, {}).run()
    found = kept.results()
    assert found is not None
    return found


def condyles(task: str, times: Array) -> Array:
    """Return the true positions of the left and the right condyle in the skull at given times of a task
    (chewing, protrusion or opening), from the synthetic motion, (n, 2, 3) [m]."""
    R, x = jaw_in_skull(task, times)
    return np.stack([R @ [0.0, 0.0, z] + x for z in (-CONDYLE_M, CONDYLE_M)], axis=1)


def table_1(task: str, by_model: dict[str, Results]) -> list[BenchFigure]:
    """Compare the positions of the condyles in the skull, computed with each joint model, with the true
    positions; return table 1 of Andersen et al. (2017). by_model : results of a run by joint model
    """
    found = []
    delay = float(response(ButterworthSpec(), RATE).delay_s[0])
    for name, own in by_model.items():
        truth = 1e3 * condyles(task, own.times - delay)
        rest = 1e3 * condyles(task, np.zeros(1))
        places = 1e3 * own.fields["joint_point_displacements"] + rest
        cycles = cycles_of(own.times, TASKS[task].frequency_hz, start_s=SETTLED_S)
        for k, side in enumerate(SIDES):
            for a, axis in enumerate(AXES):
                mean = over_cycles(truth[:, k, a], places[:, k, a], cycles).mean
                found += rows(f"displacement.{task}.{side}.{axis}.{name}", mean, "mm", WITHIN_MM)
    return found


def table_2(task: str, by_model: dict[str, Results]) -> list[BenchFigure]:
    """Compare the contact forces of the point-on-plane model with those of force-dependent kinematics, for
    each side and axis; return table 2 of Andersen et al. (2017). by_model : results by joint model

    Errors of magnitude below 0 mean that the forces of the point-on-plane model are smaller.
    """
    found = []
    fdk, pop = (by_model[name].fields["joint_point_forces"] for name in ("fdk", "pop"))
    cycles = cycles_of(by_model["fdk"].times, TASKS[task].frequency_hz, start_s=SETTLED_S)
    for k, side in enumerate(SIDES):
        for a, axis in enumerate(AXES):
            mean = over_cycles(fdk[:, k, a], pop[:, k, a], cycles).mean
            found += rows(f"force.{task}.{side}.{axis}", mean, "N")
    return found


def by_slope(task: str, pop: Results, seconds: float) -> list[BenchFigure]:
    """Repeat the comparison of the upward contact forces in table 2 of Andersen et al. (2017) with fossae of
    other slopes in the FDK model; return for each slope the error of magnitude, and the number of maxima and
    the ratio of opening to closing of the force curves (`shapes`).

    pop : results of the point-on-plane model, whose planes stay as they are; seconds : duration of a run [s]
    """
    cycles = cycles_of(pop.times, TASKS[task].frequency_hz, start_s=SETTLED_S)
    found, upwards = [], AXES.index("si")
    for flatter_deg in FLATTER_DEG:
        flatter = results(task, "fdk", seconds, flatter_deg)
        found += shapes(task, f"fdk.flatter_{flatter_deg:g}", flatter)
        fdk = flatter.fields["joint_point_forces"]
        for k, side in enumerate(SIDES):
            own = pop.fields["joint_point_forces"][:, k, upwards]
            mean = over_cycles(fdk[:, k, upwards], own, cycles).mean
            found.append(
                BenchFigure(f"force.{task}.{side}.si.magnitude.flatter_{flatter_deg:g}", mean.magnitude, "1")
            )
    return found


def by_ligament(task: str, usual: Results, seconds: float) -> list[BenchFigure]:
    """Repeat the ligament study of Andersen et al. (2017), 15 FDK runs with different stiffnesses and
    reference strains. Return standard deviations of displacements [mm] and contact forces [N] of the
    condyles over these runs, and for comparison over the cycles of the usual run, each averaged over the
    cycle.

    usual : results of the run with the usual ligaments; seconds : duration of a run [s]
    """
    runs = [
        results(task, "fdk", seconds, spec=with_ligaments(load_model(MODEL), stiffness, strain))
        for stiffness in STIFFNESSES_N_M
        for strain in STRAINS
    ]
    found = []
    for field, name, scale, unit in (
        ("joint_point_displacements", "displacement", 1e3, "mm"),
        ("joint_point_forces", "force", 1.0, "N"),
    ):
        by_run = scale * np.array([by_phase(task, run, field).mean(axis=0) for run in runs])
        over_runs = by_run.std(axis=0).mean(axis=0)
        over_own = (scale * by_phase(task, usual, field)).std(axis=0).mean(axis=0)
        for k, side in enumerate(SIDES):
            for a, axis in enumerate(AXES):
                head = f"{name}.{task}.{side}.{axis}"
                found.append(BenchFigure(f"{head}.over_ligaments", float(over_runs[k, a]), unit))
                found.append(BenchFigure(f"{head}.over_cycles", float(over_own[k, a]), unit))
    return found


def by_phase(task: str, own: Results, field: str) -> Array:
    """Interpolate a field of a run's results at N_PHASE evenly spaced phases of up to five movement cycles of
    a task; return (n_cycle, N_PHASE, 2, 3), for the two sides and three axes.

    own : results of the run; field : name of the field, such as the contact forces
    """
    values, times = own.fields[field], own.times
    period = 1.0 / TASKS[task].frequency_hz
    starts = np.arange(times[0] + SETTLED_S, times[-1] - period, period)[:5]
    at = starts[:, None] + np.linspace(0.0, period, N_PHASE)
    columns = values.reshape(len(times), -1).T
    return np.stack([np.interp(at, times, column) for column in columns], axis=-1).reshape(*at.shape, 2, 3)


def with_ligaments(spec: ModelSpec, stiffness_N_m: float, strain: float) -> ModelSpec:
    """Return the mandible with another stiffness [N/m] and reference strain [1] for all ligaments."""
    share = stiffness_N_m / USUAL_N_M
    ligaments = tuple(
        replace(ligament, stiffness_N=share * ligament.stiffness_N, reference_strain=strain)
        for ligament in spec.ligaments
        if ligament.stiffness_N is not None
    )
    return replace(spec, ligaments=ligaments)


def with_slope(spec: ModelSpec, flatter_deg: float) -> ModelSpec:
    """Return the mandible with both fossae (the planes of its contacts) rotated by flatter_deg [deg] about
    the line through the condyles of the closed jaw.
    """
    turn = Rotation.from_euler("z", flatter_deg, degrees=True)
    contacts = []
    for contact in spec.contacts:
        condyle, plane = contact.a, contact.b
        centre = np.array(condyle.offset_mm)
        contacts.append(
            replace(
                contact,
                plane=replace(
                    plane,
                    offset_mm=tuple((centre + turn.apply(np.array(plane.offset_mm) - centre)).tolist()),
                    normal=tuple(turn.apply(plane.normal).tolist()),
                ),
            )
        )
    return replace(spec, contacts=tuple(contacts))


def shapes(task: str, kind: str, own: Results) -> list[BenchFigure]:
    """Return two measures of the upward contact force on the skull, for each side: the number of maxima in
    the mean cycle, and the mean while the jaw opens divided by the mean while it closes.

    kind : joint model of the run, part of the names; own : results of the run
    """
    pressed = -by_phase(task, own, "joint_point_forces").mean(axis=0)[:-1, :, AXES.index("si")]
    forwards = by_phase(task, own, "joint_point_displacements").mean(axis=0)[:-1, :, AXES.index("ap")]
    found = []
    for k, side in enumerate(SIDES):
        name = f"force.{task}.{side}.si.{kind}"
        found += [
            BenchFigure(f"{name}.humps", float(humps(pressed[:, k])), "1"),
            BenchFigure(
                f"{name}.opening_over_closing", opening_over_closing(pressed[:, k], forwards[:, k]), "1"
            ),
        ]
    return found


def rows(name: str, mean: Agreement, unit: str, limit: float | None = None) -> list[BenchFigure]:
    """Return the benchmark results of one row of a table in Andersen et al. (2017): root mean square
    difference, squared correlation, and errors of magnitude and phase.

    name : beginning of their names; mean : these measures, averaged over the cycles; unit, limit : of the
        root mean square difference
    """
    return [
        BenchFigure(f"{name}.rmsd", mean.rmsd, unit, limit, "lower" if limit else ""),
        BenchFigure(f"{name}.r2", mean.r2, "1"),
        BenchFigure(f"{name}.magnitude", mean.magnitude, "1"),
        BenchFigure(f"{name}.phase", mean.phase, "1"),
    ]
