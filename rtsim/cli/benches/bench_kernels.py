"""Benchmarks of kernels, solvers and simulations.

The methods zero, minimised and prescribed of `rtsim bench mbo` are those of Sancisi et al. (2017). The
lengths of the knee's ligaments are constant in the first, vary as little as possible about mean lengths in
the second, and in the third approach lengths prescribed as functions of the flexion that the first finds.
"""

from __future__ import annotations

from pathlib import Path

import click

from rtsim.cli.benches.bench_group import AS_JSON, QUICK, command, need_checkout
from rtsim.cli.terminal.types import Config, MethodName


@command.command("mbo")
@AS_JSON
@click.option(
    "--data",
    type=click.Path(exists=True, path_type=Path),
    help="Trial to solve (default: the synthetic walker).",
)
@click.option(
    "--subject", default="", help="Subject of the trial (default: calibrated from the trial itself)."
)
@click.option("--seconds", type=float, default=10.0, show_default=True, help="Duration of each measurement.")
def mbo(as_json: bool, data: Path | None, subject: str, seconds: float) -> None:
    """Measure the speed of the solution methods zero, minimised and prescribed: the kernel alone, and whole
    frames.

    Reported are frames per second, percentiles of the time, iterations and residual. Results whose names
    begin with live_ are of whole frames, from the bytes of a marker message to those of a result, with faulty
    markers left out.
    """
    from rtsim.bench import figures
    from rtsim.bench.markers import mbo

    click.echo(figures.report("mbo", mbo.run(data, seconds, subject), as_json))


@command.command("dynamics")
@AS_JSON
@click.option(
    "--batches",
    type=click.IntRange(1),
    default=400,
    show_default=True,
    help="Number of timed batches for each function.",
)
@click.option(
    "--repeats",
    type=click.IntRange(1),
    default=500,
    show_default=True,
    help="Calls of the function in each batch.",
)
def dynamics(as_json: bool, batches: int, repeats: int) -> None:
    """Time inverse and forward dynamics, mass matrix and Jacobians of a body, and compare with Pinocchio
    if it is installed.
    """
    from rtsim.bench import figures
    from rtsim.bench.mechanics import dynamics

    click.echo(figures.report("dynamics", dynamics.run(batches, repeats), as_json))


@command.command("moment-arms")
@AS_JSON
@click.option(
    "--model",
    type=Config("models"),
    help="Model: a .toml or .osim file, or the name of one that comes with rtsim (default: a skeleton with "
    "54 muscles and 23 coordinates).",
)
def moment_arms(as_json: bool, model: str | None) -> None:
    """Time all lengths and all moment arms of a model's muscles, by the methods force, partial-velocity and
    velocity of `rtsim moment-arms`."""
    from rtsim.bench import figures
    from rtsim.bench.mechanics import moment_arms

    click.echo(figures.report("moment-arms", moment_arms.run(model), as_json))


@command.command("recruitment")
@AS_JSON
def recruitment(as_json: bool) -> None:
    """Time the recruitment of 24 to 92 muscles in one frame by every criterion, and compare with the solver
    daqp if it is installed."""
    from rtsim.bench import figures
    from rtsim.bench.mechanics import recruitment

    click.echo(figures.report("recruitment", recruitment.run(), as_json))


@command.command("fdk")
@AS_JSON
@click.option(
    "--seconds",
    type=float,
    default=10.0,
    show_default=True,
    help="Duration of each synthetic jaw motion, such as chewing [s].",
)
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with the cartilage surfaces of a jaw (default: the folder of the test data, if it exists).",
)
def fdk(as_json: bool, seconds: float, data: Path | None) -> None:
    """Time force-dependent kinematics of the mandible in chewing, protrusion and opening, frame by frame."""
    from rtsim.bench import figures
    from rtsim.bench.contacts import fdk

    click.echo(figures.report("fdk", fdk.run(seconds, data), as_json))


@command.command("knee-fdk")
@AS_JSON
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of recordings with force plates.",
)
def knee_fdk(as_json: bool, data: Path | None) -> None:
    """Time force-dependent kinematics of a person's knee, on the synthetic walker and on recordings with
    force plates.
    """
    from rtsim.bench import figures
    from rtsim.bench.contacts import knee_fdk

    click.echo(figures.report("knee-fdk", knee_fdk.run(data), as_json))


@command.command("mesh")
@AS_JSON
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with the surfaces of a knee (default: the folder of the test data, else generated ones).",
)
def mesh(as_json: bool, data: Path | None) -> None:
    """Time the contact of meshes and measure the errors of its force, for spheres (compared with OpenSim if
    it is installed) and for the cartilage of a knee.
    """
    from rtsim.bench import figures
    from rtsim.bench.mechanics import mesh

    click.echo(figures.report("mesh", mesh.run(data), as_json))


@command.command("jaw")
@AS_JSON
@click.option(
    "--seconds",
    type=float,
    default=12.0,
    show_default=True,
    help="Duration of each synthetic jaw motion, such as chewing [s].",
)
def jaw(as_json: bool, seconds: float) -> None:
    """Compare two models of the temporomandibular joint, point on plane and force-dependent kinematics, on
    the same synthetic motions: positions of the condyles, joint forces.
    """
    from rtsim.bench import figures
    from rtsim.bench.contacts import jaw

    click.echo(figures.report("jaw", jaw.run(seconds), as_json))


@command.command("opensim")
@AS_JSON
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of gait2354's subject01: model, setup and walk (default: the folder of the test data).",
)
def opensim(as_json: bool, data: Path | None) -> None:
    """Compare kinematics, dynamics, moment arms and recruitment of a whole body with OpenSim, if
    installed.
    """
    need_checkout()
    from benchmarks.opensim_peer import opensim
    from rtsim.bench import figures

    with figures.apart_from_figures():  # OpenSim's tools print what they read
        measured = opensim.run(data or opensim.FOLDER)
    click.echo(figures.report("opensim", measured, as_json))


@command.command("torque-generators")
@AS_JSON
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
def torque_generators(as_json: bool, folder: Path | None) -> None:
    """Time muscle torque generators: a torque with all its derivatives, and fits of a whole body to the stoop
    lift in FOLDER (default: the folder of the tests' data, else a synthetic lift).
    """
    from rtsim.bench import figures
    from rtsim.bench.mechanics import torque_generators

    click.echo(figures.report("torque-generators", torque_generators.run(folder), as_json))


@command.command("rosenbrock")
@AS_JSON
@click.option(
    "--batches",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    help="Number of timed batches for each function.",
)
@click.option(
    "--repeats",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    help="Integration steps in each batch.",
)
def rosenbrock(as_json: bool, batches: int, repeats: int) -> None:
    """Measure the integration methods: order, error and time per step of each; the linear algebra of a step;
    steps of long chains.
    """
    from rtsim.bench import figures
    from rtsim.bench.mechanics import rosenbrock

    click.echo(figures.report("rosenbrock", rosenbrock.run(batches, repeats), as_json))


@command.command("rates")
@AS_JSON
@click.argument("trials", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--method",
    type=MethodName(),
    default="minimised",
    show_default=True,
    help="Method by which the model is solved.",
)
def rates(as_json: bool, trials: tuple[Path, ...], method: str) -> None:
    """Measure noise and delay of speeds and accelerations by each filter, on TRIALS or on the synthetic
    walker.
    """
    from rtsim.bench import figures
    from rtsim.bench.markers import rates

    click.echo(figures.report("rates", rates.run(trials, method), as_json))


@command.command("friction")
@AS_JSON
@QUICK
def friction(as_json: bool, quick: bool) -> None:
    """Measure four friction laws in two experiments: error against SciPy's solution, speed and cost of a
    step.

    With --quick, one friction law is measured, and each row is timed only a few times.
    """
    from rtsim.bench import figures
    from rtsim.bench.mechanics import friction
    from rtsim.cli.terminal.compiling import compile_first
    from rtsim.cli.terminal.console import LastingConsole

    compile_first(LastingConsole(stderr=True), ("simulation",))
    found = friction.run(friction.QUICK, n_run=3) if quick else friction.run()
    click.echo(figures.report("friction", found, as_json))


@command.command("foot")
@AS_JSON
def foot(as_json: bool) -> None:
    """Time a foot contact model on the ground: one contact, a recorded step, its pressure, and a drop onto
    the ground.
    """
    from rtsim.bench import figures
    from rtsim.bench.contacts import foot

    click.echo(figures.report("foot", foot.run(), as_json))


@command.command("foot-fit")
@AS_JSON
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with the recording gait_bmc, whose footsteps are fitted as well.",
)
def foot_fit(as_json: bool, data: Path | None) -> None:
    """Identify the contact parameters of a foot from synthetic steps made with known ones: computing time,
    errors, undetermined parameters.
    """
    from rtsim.bench import figures
    from rtsim.bench.contacts import foot_fit
    from rtsim.cli.terminal.compiling import compile_first
    from rtsim.cli.terminal.console import LastingConsole

    compile_first(LastingConsole(stderr=True), ("foot-fit",))
    click.echo(figures.report("foot-fit", foot_fit.run(data), as_json))


@command.command("knee")
@AS_JSON
def knee(as_json: bool) -> None:
    """Measure error and speed of the simulated knee with volumetric contact, and compare its response to five
    pulses of force with that of an independent program.
    """
    from rtsim.bench import figures
    from rtsim.bench.contacts import knee

    click.echo(figures.report("knee", knee.run(), as_json))
