"""Summary of a run with force plates: centre of pressure under the feet, peak moments, weight, residual."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.plates.plate_assignment import BEARS, FAR, NONE, OFF_PLATE, TWO_FEET, UNMEASURED, UNSEEN
from rtsim.files.forces.force_trial import THRESHOLD
from rtsim.files.recording import Results
from rtsim.methods.foot.foot_steps import WHOLE
from rtsim.methods.plates.exchanged_feet import judge_feet
from rtsim.methods.plates.gait_bands import FAST, FREE, RUNS, SLOW, band_of, gait_of
from rtsim.methods.plates.plate_check import GRAVITY, UNDER, WEIGHT_OFF
from rtsim.methods.plates.plate_residual import judge_residual, labels_of
from rtsim.methods.plates.pressure_place import judge_places
from rtsim.methods.plates.reaction_figures import reaction_figures, reaction_words
from rtsim.models.named_feet import feet_of
from rtsim.subjects.markers.labs import SIDES
from streams.messages import time_rate

Array = NDArray[np.float64]


AT = {SLOW: ", slow walking", FREE: "", FAST: ", fast walking", RUNS: ", running"}
WARNING = "warning, "
"""Beginning of sentences on faults; the subject and a colon follow."""
WALKS = 0.1
"""Fraction of the loaded frames in single support from which the person walks, also on a treadmill."""
STANDS, UPRIGHT = 0.05, np.radians(30.0)
"""Limits of standing: speed of the pelvis [m/s] and bend of the knees [rad]."""
STILL, STILL_S = 0.03, 0.5
"""Largest horizontal movement of the feet in standing [m], and the time in which it is measured [s]."""
FLAGS = {
    "two_feet": TWO_FEET,
    "plate_far": FAR,
    "foot_unseen": UNSEEN,
    "plate_unmeasured": UNMEASURED,
    "off_plate": OFF_PLATE,
}


def kinetic_figures(results: Results) -> dict[str, Any] | None:
    """Summarise the forces of the plates in a run and, if the mass is known, joint moments and residual;
    None for results without plates.
    """
    if "plate_status" not in results.fields:
        return None
    figures: dict[str, Any] = plate_figures(results)
    if reaction := reaction_figures(results):
        figures["reaction"] = reaction
    mass = results.session.meta.get("mass_kg")
    if not mass or "joint_moments" not in results.fields:
        return figures
    walks = single_support(results, mass) > WALKS
    figures["mass_kg"] = mass
    figures["walks"] = walks
    figures["cut"] = cut_steps(results) if walks else []
    figures["weight"] = None if walks else weight(results, mass)
    figures["gait"], figures["speed_m_s"] = gait(results, mass) if walks else ("", None)
    figures["peaks"] = peaks(results, mass, figures["gait"])
    figures["residual"] = residual(results, mass)
    figures["momentum"] = judge_residual(results, mass)
    figures["exchanged_feet"] = judge_feet(results, mass)
    # who runs strikes with any part of the foot, and rolls less
    asked = walks and figures["gait"] != RUNS and not figures["exchanged_feet"]
    figures["pressure"] = judge_places(results, mass, figures["momentum"]) if asked else None
    return figures


def warnings_of(results: Results) -> list[str]:
    """Return in sentences what is suspicious in a run with force plates: plates that do not fit the mass, the
    feet or the model.
    """
    figures = kinetic_figures(results)
    told = in_sentences(figures) if figures else []
    return [words.partition(": ")[2] for words in told if words.startswith(WARNING)]


def plate_figures(results: Results) -> dict[str, Any]:
    """Compute in what fraction of the loaded samples the centre of pressure is under the foot on the plate
    ("under"), for all feet together and for each foot; also count the loaded and the flagged samples.

    A sample is one plate in one frame. Samples with two feet on one plate are counted, but not included in
    the fractions. If the run states which bodies stand on the plates, no fractions are computed.
    """
    bits = results.fields["plate_status"].astype(np.int64)
    found = "plate_shares" in results.fields
    share = results.fields["plate_shares"].astype(np.int64) if found else np.zeros((*bits.shape, 0), np.int64)
    loaded = np.isfinite(results.fields["plate_centres"]).all(axis=2)
    one = loaded & ((bits & TWO_FEET) == 0)
    well = one & ((bits & OFF_PLATE) == 0)
    feet = {}
    for f, side in enumerate(SIDES if found else ()):
        his, borne = one & (share[..., f] != NONE), well & (share[..., f] == BEARS)
        feet[side] = {"loaded": int(his.sum()), "under": part(borne.sum(), his.sum())}
    under = (well & (share == BEARS).any(axis=2)).sum()
    return {
        "loaded": int(loaded.sum()),
        "under": part(under, one.sum()) if found else None,
        "feet": feet,
        "flagged": {
            name: int(((bits & bit) != 0).sum()) for name, bit in FLAGS.items() if (bits & bit).any()
        },
    }


def gait(results: Results, mass: float) -> tuple[str, float | None]:
    """Return the kind of gait of a person who walks or runs ("slow", "free", "fast" or "runs"), and the speed
    [m/s], None if it is not known.
    """
    found, speed = gait_of(results, mass, stature_of(results))
    return found, speed if np.isfinite(speed) else None


def stature_of(results: Results) -> float:
    """Return the stature of the person [m], 0 = unknown."""
    return float(results.session.meta.get("stature_m") or 0.0)


def peaks(results: Results, mass: float, gait: str) -> dict[str, Any]:
    """Return by muscle group the greatest moment of each joint with published peaks, per body mass [N m/kg].

    gait : "slow", "free", "fast" or "runs": the range of published peaks is added, and whether the moment
        lies in it; "" = the person neither walks nor runs, no range is added
    """
    moments, found = results.fields["joint_moments"], {}
    for k, angle in enumerate(labels_of(results, "joint_moments")):
        band = band_of(angle, gait or FREE, stature_of(results))
        known = np.isfinite(moments[:, k])
        if band is None or not known.any():
            continue
        muscles, (low, high) = band
        peak = -float(moments[known, k].min()) / mass
        found[muscles] = said = {"value": peak}
        if gait:
            said |= {"low": low, "high": high, "within": low <= peak <= high}
    return found


def weight(results: Results, mass: float) -> dict[str, Any] | None:
    """Compare the weight that all plates measure while the person stands upright with the person's mass;
    None if nobody stands on them.
    """
    labels = labels_of(results, "joint_angles")
    knees = [k for k, name in enumerate(labels) if name.startswith("knee_flexion")]
    stands = (root_speed(results) < STANDS) & (
        np.abs(results.fields["joint_angles"][:, knees]) < UPRIGHT
    ).all(axis=1)
    total = results.fields["plate_forces"][..., 1].sum(axis=1)
    stands &= np.isfinite(total) & (total > 0.5 * mass * GRAVITY) & feet_are_still(results)
    if not stands.any():
        return None
    found = float(total[stands].mean())
    off = found / (mass * GRAVITY) - 1.0
    return {"frames": int(stands.sum()), "newtons": found, "off": off, "warning": abs(off) > WEIGHT_OFF}


def residual(results: Results, mass: float) -> dict[str, Any] | None:
    """Summarise the residual at the pelvis, in body weights and body weights times metres.

    Returned are mean and largest residual, and the mean upward force that the weight of body parts missing in
    the model does not explain.
    """
    if "residual_force" not in results.fields:  # of a leg without a pelvis
        return None
    force, moment = results.fields["residual_force"], results.fields["residual_moment"]
    known = np.isfinite(force).all(axis=1) & np.isfinite(moment).all(axis=1)
    if not known.any():
        return None
    absent = 1.0 - float(results.session.meta.get("model_mass_kg", mass)) / mass
    size, turn = (np.linalg.norm(x[known], axis=1) for x in (force, moment))
    return {
        "frames": int(known.sum()),
        "mean_force": [float(x) for x in force[known].mean(axis=0)],
        "most_force": float(size.max()),
        "mean_moment_m": [float(x) for x in moment[known].mean(axis=0)],
        "most_moment_m": float(turn.max()),
        "not_in_model": absent,
        # of one leg alone what the other needs, and its foot bears, is left as well
        "unexplained_up": None if side_of(results) else float(force[known, 1].mean()) + absent,
    }


def single_support(results: Results, mass: float) -> float:
    """Return the fraction of frames in which only one foot is loaded, among the frames in which the forces on
    both feet are known and bear at least half the weight.
    """
    loads = results.fields["foot_loads"]
    known = np.isfinite(loads).all(axis=1) & (loads.sum(axis=1) > 0.5 * mass * GRAVITY)
    return float((loads[known].min(axis=1) < THRESHOLD).mean()) if known.any() else 0.0


def cut_steps(results: Results) -> list[str]:
    """Return sentences on the feet that are loaded when the recording begins or ends, as their steps are
    incomplete."""
    loads, said = results.fields["foot_loads"], []
    for k, side in enumerate(SIDES):
        row = np.nan_to_num(loads[:, k])
        for at, when in ((0, "begins"), (-1, "ends")):
            if row[at] > WHOLE * row.max():
                said.append(
                    f"the recording {when} while the {side} foot bears {row[at]:.0f} N, so this "
                    "footstep is incomplete"
                )
    return said


def root_speed(results: Results) -> Array:
    """Return the speed of the root along the floor, (n,) [m/s]; NaN where it is not known."""
    place = results.fields["segment_positions"][:, 0, [0, 2]]
    if len(results.times) < 2:
        return np.full(len(results.times), np.nan)
    return np.asarray(np.linalg.norm(np.gradient(place, results.times, axis=0), axis=1))


def feet_are_still(results: Results) -> NDArray[np.bool_]:
    """Return a mask (n,) of the frames around which the feet (or all segments, if feet are not named) do not
    move."""
    places = results.fields["segment_positions"][..., [0, 2]]
    names = labels_of(results, "segment_positions")
    side = side_of(results)
    feet = [k for k, _ in feet_of(names, side or "right")] if len(names) == places.shape[1] else []
    rows = places[:, feet] if feet else places
    half = max(1, round(0.5 * STILL_S * time_rate(results.session)))
    padded = np.pad(rows, ((half, half), (0, 0), (0, 0)), mode="edge")
    window = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1, axis=0)
    return np.asarray((np.ptp(window, axis=-1) <= STILL).all(axis=(1, 2)))


def side_of(results: Results) -> str:
    """Return the side of a single modelled leg, "" if both are modelled or it is unknown."""
    side = str(results.session.meta.get("side", ""))
    return side if side in SIDES else ""


def part(n: int, of: int) -> float | None:
    """Return n divided by `of`, both numbers of frames or samples; None where `of` is 0."""
    return float(n / of) if of else None


def in_sentences(figures: dict[str, Any]) -> list[str]:
    """Return the summary of a run with force plates as sentences."""
    told = []
    if figures["under"] is not None:
        feet = ", ".join(
            f"{side} foot {percent(foot['under'])} of {foot['loaded']} frames"
            for side, foot in figures["feet"].items() if foot["loaded"]
        )  # fmt: skip
        low = "" if figures["under"] >= UNDER else f", less than the expected {percent(UNDER)}"
        told.append(
            f"the centre of pressure lies under the foot in {percent(figures['under'])} of all readings{low} "
            f"({feet})"
        )
    if figures["flagged"]:
        flags = ", ".join(f"{name} {n}" for name, n in figures["flagged"].items())
        told.append(
            f"of {figures['loaded']} readings of loaded force plates, these numbers are flagged: {flags}"
        )
    for name, peak in figures.get("peaks", {}).items():
        verdict = ""
        if "within" in peak:
            inside = "within the published range" if peak["within"] else "outside the published range"
            verdict = f" ({inside}: {peak['low']:g} to {peak['high']:g}{AT[figures['gait']]})"
        told.append(f"peak moment of the {name.replace('_', ' ')}: {peak['value']:.2f} N m/kg{verdict}")
    if figures.get("weight"):
        stands = figures["weight"]
        name = f"{WARNING}weight: " if stands["warning"] else ""
        told.append(
            f"{name}in standing the plates bear {stands['newtons']:.1f} N, which differs by "
            f"{100 * stands['off']:+.1f} % from the weight of {figures['mass_kg']:.1f} kg"
        )
    if figures.get("residual"):
        left = figures["residual"]
        told.append(
            f"residual force at the pelvis in body weights: mean {vector(left['mean_force'])}, at most "
            f"{left['most_force']:.2f}; residual moment divided by body weight: mean "
            f"{vector(left['mean_moment_m'], 3)} m, at most {left['most_moment_m']:.3f} m; "
            f"the model leaves out {percent(left['not_in_model'])} of the body mass"
            + (
                ", and the load of the other foot is not known"
                if left["unexplained_up"] is None
                else f"; an upward force of {left['unexplained_up']:+.3f} body weights remains unexplained"
            )
        )
    if figures.get("momentum") and figures["momentum"]["sentence"]:
        told.append(
            f"{WARNING}plates: {figures['momentum']['sentence']} (that explains most of the residual, "
            f"{figures['momentum']['rms']:.2f} body weights root mean square)"
        )
    if figures.get("exchanged_feet"):
        told.append(f"{WARNING}plates: {figures['exchanged_feet']}")
    if figures.get("pressure") and figures["pressure"]["sentence"]:
        told.append(f"{WARNING}plates: {figures['pressure']['sentence']}")
    told += figures.get("cut", [])
    return [*told, *(reaction_words(figures["reaction"]) if "reaction" in figures else [])]


def percent(share: float | None) -> str:
    """Return a fraction as text in percent, a dash for None."""
    return "-" if share is None else f"{100.0 * share:.1f} %"


def vector(x: list[float], digits: int = 2) -> str:
    """Return the three components of a vector as text."""
    return "(" + ", ".join(f"{value:.{digits}f}" for value in x) + ")"
