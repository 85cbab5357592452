"""Functions that call all kernels of one group once, so that Numba compiles them before a run.

A group (rtsim/live/compiled/group_table.py) consists of the kernels that one task of a run needs. Each
function here calls those of them that Python calls directly, with small synthetic data whose types are those
in a run.

Imports are inside the functions: each group is called in its own process, which imports only what it calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import msgspec
import numpy as np

from rtsim.live.inputs.sources import WALKER

if TYPE_CHECKING:
    from rtsim.config.runs.hil_schema import HilSpec
    from rtsim.device.exchange import DeviceExchange

LOWER_LIMB = "lower_limb"


def call_solver() -> None:
    """Call the kernels of the marker solver for the lower limb, with every method, from the markers of a
    frame to its encoded message, without standard deviations.
    """
    _run_lower_limb(with_deviations=False)


def call_deviations() -> None:
    """Call the kernels of the marker solver for the lower limb and those of its standard deviations. Only the
    kernels of the deviations are compiled here, as another process compiles the solver.
    """
    _run_lower_limb(with_deviations=True)


def _run_lower_limb(with_deviations: bool) -> None:
    from rtsim.config.paths import find_config
    from rtsim.config.runs.run_schema import USUAL_METHOD, USUAL_METHODS, RunConfig
    from rtsim.live.compiled.warm_up import neutral, warm_up
    from rtsim.methods.kinematics.multibody import MultibodyEstimator
    from rtsim.models.load import load_model
    from rtsim.stages.building.first_stage import first_stage
    from rtsim.subjects.subject import load_subject
    from streams.messages import marker_session

    spec = load_model(LOWER_LIMB)
    subject = load_subject(find_config(WALKER, "subjects"))
    run = RunConfig(name="warmup")
    plain = msgspec.structs.replace(spec, muscles=())
    uncertainty = run.uncertainty if with_deviations else None
    estimator = MultibodyEstimator(
        spec=plain,
        subject=subject,
        method=USUAL_METHOD,
        methods=USUAL_METHODS,
        solver=run.solver,
        check=run.markers,
        uncertainty=uncertainty,
    )
    if with_deviations:
        estimator.prepare_rates()
    kinematics = first_stage(estimator, subject)
    session = marker_session(subject.marker_names, rate=100.0, t_start=0)
    warm_up([kinematics], session, neutral(kinematics.estimator))


MODEL_KINDS = (
    {"name": "base", "joint": "free"},
    {
        "name": "arm",
        "parent": "base",
        "joint": "custom",
        "coordinates": [{"name": "bend", "range_deg": [-90, 90], "clamped": True}],
        "motion": [{"rotates": [0, 0, 1]}, {"translates": [1, 0, 0], "linear": [0.1, 0.0]}],
    },
    {"name": "hand", "parent": "arm", "joint": "hinge", "axis": [0, 0, 1]},
)
"""Bodies with a free joint, with a joint of functions of a coordinate, and with a hinge: together they use
the data types of all joints."""


def call_model() -> None:
    """Call the kernels of the marker solver for a model that brings its own markers. The model has a free
    joint, a joint with functions of a coordinate, a hinge and a coupler between coordinates, which use every
    type of joint data.
    """
    _run_own_markers(with_deviations=False)


def call_model_deviations() -> None:
    """Call the kernels of the marker solver for a model with its own markers and those of its standard
    deviations. Only the kernels of the deviations are compiled here.
    """
    _run_own_markers(with_deviations=True)


def _run_own_markers(with_deviations: bool) -> None:
    from rtsim.config.load import check_record
    from rtsim.config.models.model_schema import ModelSpec
    from rtsim.config.runs.run_schema import Uncertainty
    from rtsim.live.compiled.warm_up import neutral, warm_up
    from rtsim.methods.kinematics.multibody import MultibodyEstimator
    from rtsim.models.distances import ruler_of_model
    from rtsim.stages.building.first_stage import first_stage
    from streams.messages import marker_session

    markers = [
        {"name": f"{body['name']}{k}", "segment": body["name"], "offset_mm": offset}
        for body in MODEL_KINDS
        for k, offset in enumerate(([100.0, 0.0, 0.0], [0.0, 100.0, 0.0], [0.0, 0.0, 100.0]))
    ]
    coupler = {"coordinate": "hand", "of": "bend", "linear": [0.5, 0.0]}
    record = {"name": "any", "source": "", "bodies": MODEL_KINDS, "markers": markers, "couplers": [coupler]}
    spec = check_record(record, ModelSpec, "the compiler's model")
    method = next(iter(spec.methods))
    uncertainty = Uncertainty() if with_deviations else None
    kinematics = first_stage(MultibodyEstimator(spec, None, method, uncertainty=uncertainty), None)
    session = marker_session(kinematics.reference_length.names, rate=100.0, t_start=0)
    if with_deviations:
        kinematics.estimator.prepare_rates()
    ruler_of_model(kinematics.estimator.model)
    warm_up([kinematics], session, neutral(kinematics.estimator))


def call_conventional() -> None:
    """Call the kernels that compute the joint angles of the conventional gait model, for one leg."""
    from kernels.conventional.leg import ANGLES, CENTRES, conventional_legs
    from rtsim.stages.conventional_angles import legs_of
    from rtsim.subjects.conventional.record import ROLES, ConventionalLeg

    leg = ConventionalLeg({role: role for role in ROLES}, (0.0, 0.0, 0.0), 50.0, 40.0)
    markers, out = np.zeros((len(ROLES), 3)), np.zeros((1, len(ANGLES)))
    conventional_legs(
        legs_of({"right": leg}, ROLES, itself=False), markers, np.eye(3), out, np.zeros((1, len(CENTRES), 3))
    )


def call_muscles() -> None:
    """Call the kernels for lengths and moment arms of the lower limb's muscles."""
    from kernels.joints.tree import new_pose
    from rtsim.config.paths import find_config
    from rtsim.methods.muscles.muscle_arms import MuscleArms
    from rtsim.models.load import load_model
    from rtsim.models.model import build
    from rtsim.models.roles import roles_of
    from rtsim.subjects.subject import load_subject

    spec, subject = load_model(LOWER_LIMB), load_subject(find_config(WALKER, "subjects"))
    model = build(spec, subject)
    pose = new_pose(len(model.names.bodies), model.n_v, len(model.tree.chains.dof))
    MuscleArms(model, roles_of(spec, subject=subject), pose, model.q_neutral.copy()).measure()


def call_forces() -> None:
    """Call the kernels that compute joint speeds and accelerations, the contacts on force plates, and the
    inverse dynamics of the lower limb.
    """
    from kernels.compiler.jit import hold
    from kernels.rates.manifold import manifold_of, plain
    from kernels.solver.published_values import new_published_loads, publish_loads
    from rtsim.config.paths import find_config
    from rtsim.config.runs.rate_schema import RateSpec
    from rtsim.methods.inverse_dynamics import inverse_dynamics_of
    from rtsim.methods.kinematics.rates import RateEstimator
    from rtsim.models.load import load_model
    from rtsim.models.model import build
    from rtsim.stages.plates import call_plates
    from rtsim.subjects.calibration.masses import load_inertia_table, person_of
    from rtsim.subjects.subject import load_subject

    call_plates()
    spec, subject = load_model(LOWER_LIMB), load_subject(find_config(WALKER, "subjects"))
    model = build(spec, subject)
    for manifold, q in ((plain(6), [0.0] * 6), (manifold_of(model.tree), model.q_neutral)):
        for kind in get_args(RateSpec):
            RateEstimator(kind(), manifold, 100.0).take(0.0, np.array(q))
    body = inverse_dynamics_of(spec, subject, person_of(subject, load_inertia_table(), 70.0))
    body.compute(model.q_neutral.copy(), np.zeros(model.n_v), np.zeros(model.n_v))
    n = len(body.results.centre)
    signs, shown = (np.ones((n, 3)), np.ones((2, 3))), new_published_loads(n)
    hold(publish_loads, (body.results, body.deviations, np.zeros(3 * n, bool), *signs, body.weight, shown))()


def call_foot() -> None:
    """Call the kernels of the model of foot-ground contact, and those that distribute the load of one force
    plate to two feet on it.
    """
    from kernels.contact.prescribed import new_motion
    from rtsim.config.paths import find_config
    from rtsim.config.runs.run_schema import RunConfig
    from rtsim.methods.foot.foot_contact import FootContact, contact_foot
    from rtsim.methods.foot.foot_share import FootShare
    from rtsim.methods.kinematics.multibody import MultibodyEstimator
    from rtsim.models.load import load_model
    from rtsim.stages.foot_contact import call_foot_contacts
    from rtsim.subjects.feet.foot_marks import UP
    from rtsim.subjects.subject import load_subject

    run, subject = RunConfig(name="warmup"), load_subject(find_config(WALKER, "subjects"))
    estimator = MultibodyEstimator(
        spec=load_model(LOWER_LIMB),
        subject=subject,
        method="zero",
        methods=("zero",),
        solver=run.solver,
        check=run.markers,
    )
    call_foot_contacts(run, estimator, subject)
    feet = [FootContact(contact_foot(run.foot, 0.2, side), run.foot) for side in (0, 1)]
    FootShare(feet[0], feet[1]).take(new_motion(2), np.zeros(3), UP, 500.0)


def call_moment_arms() -> None:
    """Call the kernels of `rtsim moment-arms`, a command that computes moment arms of a model's muscles."""
    from rtsim.methods.muscles.moment_arms import MomentArms
    from rtsim.models.load import load_model
    from rtsim.models.model import build
    from rtsim.models.roles import roles_of

    spec = load_model("pin")
    MomentArms(build(spec), roles_of(spec)).assembled()


def call_recruitment() -> None:
    """Call the kernels of muscle recruitment, which distribute joint moments to the muscles of a model."""
    from kernels.joints.tree import new_pose
    from kernels.muscle.strengths import all_strengths
    from kernels.recruitment.problem import RecruitmentOptions, new_recruitment
    from kernels.recruitment.reactions import reaction_rows
    from kernels.recruitment.recruit import recruit
    from kernels.solver.constraints import new_element_work
    from rtsim.models.load import load_model
    from rtsim.models.model import build

    model = build(load_model("finger"))
    muscles, elements = model.muscles, model.elements
    length, speed, strength, passive = (np.zeros(len(muscles.elastic)) for _ in range(4))
    all_strengths(muscles, length, speed, strength, passive)
    recruit(*new_recruitment(np.ones(2), np.ones(2), 1, RecruitmentOptions(3, 1, 1.0, 1.0)))
    pose = new_pose(len(model.names.bodies), model.n_v, len(model.tree.chains.dof))
    work, rows = new_element_work(*elements.path.shape), np.zeros((0, model.n_v))
    reaction_rows(elements, model.reactions.element, np.zeros(len(elements.kind)), pose, work, rows)


def call_fdk() -> None:
    """Call the kernels of force-dependent kinematics, for a model that brings its own markers."""
    from kernels.rates.manifold import plain
    from rtsim.config.runs.fdk_schema import FdkSpec
    from rtsim.config.runs.rate_schema import RateSpec
    from rtsim.methods.fdk.fdk import ForceDependentKinematics
    from rtsim.methods.kinematics.rates import RateEstimator
    from rtsim.models.load import load_model
    from rtsim.models.model import build
    from rtsim.models.roles import roles_of

    for kind in get_args(RateSpec):
        RateEstimator(kind(), plain(6), 100.0).take(0.0, np.zeros(6))
    spec = load_model("mandible")
    still = np.zeros((len(spec.markers), 3))
    ForceDependentKinematics(build(spec), roles_of(spec), FdkSpec()).balance(still, still, still, still[:, 0])


def call_torque_generators() -> None:
    """Call the kernels that compute the activations of joint torque generators, for a planar model of the
    body.
    """
    from kernels.compiler.jit import hold
    from kernels.torque_generator.needed import needed_activations
    from rtsim.models.load import load_model
    from rtsim.models.model import build

    model = build(load_model("planar_body"))
    n, zeros = len(model.names.generators), np.zeros(model.n_v)
    work = np.zeros(n), np.zeros(n), np.zeros(3), np.zeros(4)
    hold(needed_activations, (model.forces.generators, model.q_neutral.copy(), zeros, zeros, *work))()


def call_generator_fit() -> None:
    """Call the kernels of `rtsim fit torque-generators`: fit a torque generator to torques that are larger
    than it can produce, and evaluate one torque.
    """
    from rtsim.methods.generators.emg import torque_of
    from rtsim.methods.generators.joint_motion import JointMotion
    from rtsim.methods.generators.torque_generator_fit import FitSettings, fit_all
    from rtsim.models.generator_sets import generators_of

    one = generators_of("planar")[0]
    still, there, full = np.zeros(3), np.array([0.0, 0.1, 0.2]), np.ones(3)
    tau = 1.5 * torque_of(one, there, still, full)
    motion = JointMotion((one.joint.coordinate,), there, there[:, None], still[:, None], tau[:, None])
    fit_all([one], motion, FitSettings(several=False))


def call_simulation() -> None:
    """Call the kernels of `rtsim simulate`, the forward dynamics of a model, for one without prescribed
    coordinates, couplers, constraints and torque generators.
    """
    from rtsim.simulation.load import load_simulator
    from rtsim.simulation.run import warm_up

    warm_up(load_simulator("stick_slip"))


def call_coupled() -> None:
    """Call the kernels of `rtsim simulate` for a model with prescribed coordinates or couplers."""
    from rtsim.simulation.load import load_simulator
    from rtsim.simulation.run import warm_up

    warm_up(load_simulator("kick", equilibrium="loaded"))


def call_turned() -> None:
    """Call the kernels of `rtsim simulate` for a model with joint torque generators."""
    from rtsim.simulation.load import load_simulator
    from rtsim.simulation.run import warm_up

    warm_up(load_simulator("planar_leg", equilibrium="loaded"))


def call_held() -> None:
    """Call the kernels of `rtsim simulate` for a model with kinematic constraints, such as closed loops."""
    from rtsim.simulation.load import load_simulator
    from rtsim.simulation.run import warm_up

    warm_up(load_simulator("squeezer"))


def call_energy() -> None:
    """Call the kernels of the energy monitor, with which `rtsim hil` checks the limb that it simulates."""
    from rtsim.live.hardware.limb_parts import simulator_for
    from rtsim.stages.device.energy import EnergyAccount

    spec, exchange = _device_exchange()
    EnergyAccount(exchange, simulator_for(spec))


def call_sensors() -> None:
    """Call the kernels with which `rtsim hil` compares the angle that a device measures with that of the
    joint.
    """
    _device_exchange()


def _device_exchange() -> tuple[HilSpec, DeviceExchange]:
    """Return the shipped example config of an ankle with a device (configs/hil/ankle), and a device exchange
    for it, which compiles its kernels when it is created.
    """
    from rtsim.config.load import load_toml
    from rtsim.config.paths import find_config
    from rtsim.config.runs.hil_schema import HilSpec
    from rtsim.device.exchange import DeafPort, DeviceExchange

    spec = load_toml(find_config("ankle", "hil"), HilSpec)
    return spec, DeviceExchange(spec, DeafPort(), "")


def call_foot_fit() -> None:
    """Call the kernels of `rtsim fit foot`, which fits a contact model of the foot to measured steps:
    residuals and derivatives for a synthetic step, with terms for pressure, friction and free moment.
    """
    from rtsim.methods.foot.foot_fit import FootProblem
    from rtsim.methods.foot.foot_misfit import Weights
    from rtsim.methods.foot.foot_parameters import TABLE_5_4
    from rtsim.methods.foot.rolling_foot import known_step

    step = known_step(TABLE_5_4, 0)
    problem = FootProblem([step.trial], Weights(friction=1.0, spin=1.0), TABLE_5_4)
    problem.slopes(problem.start(TABLE_5_4))
