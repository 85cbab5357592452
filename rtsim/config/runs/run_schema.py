"""Schema of configs/runs/*.toml: a live run, its solver, its marker checks and its ports."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from rtsim.config.bounds import check_numbers, check_texts
from rtsim.config.models.place_schema import Positive
from rtsim.config.runs.fdk_schema import FdkSpec
from rtsim.config.runs.foot_schema import FootSpec
from rtsim.config.runs.measures_schema import PersonMeasures
from rtsim.config.runs.rate_schema import ButterworthSpec, RateSpec
from rtsim.config.runs.recruitment_schema import RecruitmentSpec

PositiveInt = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
LONGEST_S = 604_800.0
"""A week: an end that every clock can hold."""
Duration = Annotated[float, msgspec.Meta(ge=0.0, le=LONGEST_S)]


class Solver(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Numerical settings of the optimisation that fits the pose to the markers."""

    # norm of the optimality conditions at which a frame is solved; 1e-11 is just above round-off
    tolerance: Annotated[float, msgspec.Meta(gt=0.0, le=1e-3)] = 1e-11
    max_iterations: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 60
    max_step: Annotated[float, msgspec.Meta(gt=0.0, le=3.0)] = 0.5
    restart_rms_mm: Positive = 50.0
    # largest number of frames until it is tested again whether another assembly of the joints fits better
    restart_interval: PositiveInt = 200
    max_prediction_s: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 0.1


class MarkerCheck(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Limits of a marker's residual, distances and speed, above which it counts as faulty, and times in which
    its usual residual is learnt; docs/damage.md states their source.
    """

    downweight: bool = True
    # largest difference between a marker's residual (a vector) in the solved pose and its usual residual
    floor_mm: Positive = 40.0
    # the same before the usual residual is known, after n_learn frames; also the largest usual residual
    unknown_mm: Positive = 50.0
    # largest distance of a marker from its place as computed from the other markers of its segment
    agreement_mm: Positive = 25.0
    n_learn: PositiveInt = 25
    time_constant_s: Positive = 0.5
    swap_distance_mm: Positive = 20.0
    # largest difference from the predicted speed that is not a fault [m/s]
    stray_speed: Positive = 5.0
    # time for which a marker must stay at a new place on its segment before that place counts as its own
    relearn_s: Positive = 10.0
    # time for which a missing marker is replaced by its place relative to the other markers of its segment;
    # 0 = never
    fill_s: Annotated[float, msgspec.Meta(ge=0.0, le=10.0)] = 1.0


class Uncertainty(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Standard deviations of marker positions along each axis, and the largest acceptable standard deviation
    of an angle.

    Markers of thigh and shank were up to 27.0 and 24.2 mm off in walking, compared with bone pins (Andersen
    et al. 2012, Gait & Posture 35, 606-611), with most of the error shared by all markers of the segment
    (docs/uncertainty.md).
    """

    # standard deviation of white noise; it is estimated from the residuals, within these two limits
    least_noise_mm: Positive = 0.1
    most_noise_mm: Positive = 5.0
    # least standard deviation of a marker relative to the bone, by segment: skin motion and misplaced markers
    pelvis_mm: Positive = 5.0
    thigh_mm: Positive = 7.0
    shank_mm: Positive = 6.0
    foot_mm: Positive = 3.0
    other_mm: Positive = 5.0
    # fraction of this variance that all markers of a segment share, as translation and rotation of its skin
    rigid_part: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 0.7
    # largest standard deviation that is estimated from residuals for a single marker, as a multiple of these
    most_skin: Annotated[float, msgspec.Meta(ge=1.0, le=100.0)] = 3.0
    # time constant over which variances are averaged while the visible markers are the same; 0 = no average
    average_s: Annotated[float, msgspec.Meta(ge=0.0, le=10.0)] = 0.5
    # time in which skin errors change, their size divided by their rate of change: here in walking at 1.2 s
    # per cycle
    skin_time_s: Annotated[float, msgspec.Meta(ge=0.01, le=10.0)] = 0.125
    # standard deviation of a segment's mass, relative to the mass
    segment_mass_percent: Positive = 10.0
    # force plates: least standard deviations of a force, and of the centre of pressure along each axis
    plate_force_n: Positive = 0.5
    plate_centre_mm: Positive = 2.0
    # beyond 5 degrees an error may mislead (McGinley et al. 2009, Gait & Posture 29, 360-369)
    limit_deg: Positive = 5.0
    # the same for third angles, rotations about long axes: even with all markers, skin causes 4 to 6 degrees
    limit_rotation_deg: Positive = 7.5


class Ports(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Network addresses of a live run for markers, results and control; port 0 lets the system choose one."""

    markers: str = "tcp://127.0.0.1:0"
    results: str = "tcp://127.0.0.1:5561"
    control: str = "tcp://127.0.0.1:5562"


LEAST_PART = 1e-6
"""Part of a plate that counts as nothing."""


class PlateUse(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Settings for the use of force plates: the bodies that press them, taring, and waiting for their
    samples.
    """

    # longest time that a frame of markers waits for the sample after it
    wait_ms: Annotated[float, msgspec.Meta(ge=0.0, le=1000.0)] = 20.0
    # whether the plates are the only ground, as in a treadmill: then no force acts on a foot beside them
    bear_all: bool = False
    # bodies on which the plates act, for a model with its own markers; by default found in the neutral pose
    feet: tuple[str, ...] = ()
    # instead: name of a plate -> body -> fraction of the plate's force that acts on it; the sum is 1
    borne_by: dict[str, dict[str, Annotated[float, msgspec.Meta(gt=0.0, le=1.0)]]] = {}
    # start and end [s] of a time in which nobody is on the plates; their mean force in it is subtracted
    tare: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.tare is not None and not self.tare[0] < self.tare[1]:
            raise ValueError(
                f"plates.tare: {list(self.tare)}; allowed: [start, stop] in seconds, start first"
            )
        for plate, parts in self.borne_by.items():
            if abs(sum(parts.values()) - 1.0) > LEAST_PART:
                raise ValueError(
                    f"plates.borne_by.{plate}: the parts of this plate sum to "
                    f"{sum(parts.values()):g}; allowed: 1"
                )
        if self.feet and self.borne_by:
            raise ValueError(
                "plates.feet: with this key the load of each foot is computed from pressure, but "
                "plates.borne_by prescribes this load; give only one of the two keys"
            )


class Compare(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Settings of `rtsim analyse --compare`: which choices of the run config are compared, in which results,
    and over how many cycles of the movement.
    """

    # name of a table of choices of this config, each of which is run
    choice: str
    # field of the results -> the choice that is the reference, then the choices compared with it
    fields: dict[str, tuple[str, ...]]
    # number of whole cycles that are compared, each separately
    cycles: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 5
    # start of the first cycle, after filters have settled
    start_s: Annotated[float, msgspec.Meta(ge=0.0, le=LONGEST_S)] = 1.0

    def __post_init__(self) -> None:
        if not self.fields:
            raise ValueError("compare.fields: nothing is compared; give FIELD = [CHOICE, CHOICE]")
        for field, choices in self.fields.items():
            if len(choices) < 2:
                raise ValueError(
                    f"compare.fields.{field}: {len(choices)} given; allowed: two choices or more"
                )


USUAL_METHOD = "minimised"
USUAL_METHODS = ("zero", "minimised", "prescribed")


FILE_KEYS = ("source", "static", "forces", "subject", "ik_setup", "measures", "lab", "model")
"""Keys of a run that may name files."""


class RunConfig(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Settings of a live run."""

    name: str
    source: str = "walker"
    model: str = "lower_limb"
    # method of the start; none given: `minimised` if the model has it, else its first method
    method: str = ""
    # methods to which a run can be switched; none given: the usual ones, as far as the model has them
    methods: tuple[str, ...] = ()
    # steps of processing of every frame, in this order; none given: the usual ones that the model permits
    stages: tuple[str, ...] = ()
    # side of the body that is solved; none given: both if there are markers of both
    side: Literal["right", "left", "both", ""] = ""
    subject: str = ""
    # weights of markers and coordinates (.xml) for a model that brings its own markers
    ik_setup: str = ""
    static: str = ""
    # force plates: a file, a stream, "walker"; none given: those of a C3D source
    forces: str = ""
    # analog channels of a C3D source that are electromyograms, with commas between
    emg: str = ""
    # mass of the person; 0 = as in the subject's file, or weighed on the force plates of the static trial
    mass_kg: Annotated[float, msgspec.Meta(ge=0.0, le=400.0)] = 0.0
    lab: str = ""
    # measures of the person that the marker set needs in addition to markers: a file (.toml, .vsk, .mp), and
    # numbers that replace those of the file
    measures: str = ""
    measured: PersonMeasures = PersonMeasures()
    # person whose markers are used, if a file or a stream contains those of several (as in Anna:RASI)
    person: str = ""
    # whether markers without names are labelled by the shapes of the segments that are followed
    label_unnamed: bool = False
    # unit of length and upward axis of the files `source` and `static`, if the files state them wrongly
    units: str = ""
    up: str = ""
    duration_s: Duration = 0.0
    # frames that may wait for the solver before the oldest is dropped; 1 = strictly the newest
    backlog: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 64
    # first: a live run gets the processor before ordinary programs, if the system permits that
    priority: Literal["first", "ordinary"] = "first"
    solver: Solver = Solver()
    markers: MarkerCheck = MarkerCheck()
    uncertainty: Uncertainty = Uncertainty()
    rates: RateSpec = ButterworthSpec()
    plates: PlateUse = PlateUse()
    # none given: muscles are not recruited
    recruitment: RecruitmentSpec | None = None
    # settings of the stage fdk (force-dependent kinematics)
    fdk: FdkSpec = FdkSpec()
    # settings of the stage foot_contact
    foot: FootSpec = FootSpec()
    # tables of single stages, [options.NAME]; what each may have is declared by the stage
    options: dict[str, dict[str, Any]] = {}
    # NAME=CHOICE of the choices that its config offers, as taken by --set
    chosen: tuple[str, ...] = ()
    # settings of `rtsim analyse --compare`
    compare: Compare | None = None
    ports: Ports = Ports()

    def __post_init__(self) -> None:
        check_numbers(self)
        check_texts(msgspec.to_builtins(self))
        for key, names in (("methods", self.methods), ("stages", self.stages)):
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise ValueError(f"{key}: {twice!r} occurs more than once; allowed: each once")
