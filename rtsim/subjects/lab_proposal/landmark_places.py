"""Typical positions of the landmarks of a standing person, divided by the stature: means and standard
deviations.

Heights and widths are those of Drillis and Contini (1966) as in Winter (2009), Biomechanics and Motor Control
of Human Movement, figure 4.1 (ankle 0.039, knee 0.285, hip 0.530 of the stature; foot 0.152 long, 0.055
wide). They were changed to those of markers on the skin, and heights are counted from the lowest marker. The
standard deviations allow for different persons, shoes and placement: they are about twice those between seven
static trials of six laboratories.
"""

from __future__ import annotations

from typing import NamedTuple

ANKLE, HIP = 0.039, 0.52
"""Heights of ankle and hip, the ends of the line of a leg, divided by the stature."""
HIP_ASIDE = 0.052
"""Distance from the middle of the pelvis to a hip: half of 0.19 of the stature (same figure) less soft
tissue."""
ANKLE_AHEAD = 0.04
"""Distance from the heel marker to the ankle along the foot, divided by the stature."""


class LandmarkPlace(NamedTuple):
    """Typical position of a landmark, such as "calcaneus", on a standing person, divided by the stature.

    frame : axes of the position: "leg" (from the line from ankle to hip), "foot" (from the heel marker, along
        the foot), or "pelvis" (from the hips, and from the middle of the body)
    mean : forwards, upwards from the lowest marker, outwards; spread : standard deviations
    odds : cost of assuming that a marker is on this landmark, twice a negative log probability: landmarks
        that are rarely marked cost more
    """

    frame: str
    mean: tuple[float, float, float]
    spread: tuple[float, float, float]
    odds: float = 0.0


PLACES: dict[str, LandmarkPlace] = {
    "asis": LandmarkPlace("pelvis", (0.064, 0.555, 0.073), (0.018, 0.016, 0.015)),
    "psis": LandmarkPlace("pelvis", (-0.050, 0.585, 0.030), (0.018, 0.024, 0.010)),
    "sacrum": LandmarkPlace("pelvis", (-0.050, 0.580, 0.000), (0.018, 0.024, 0.010)),
    "greater_trochanter": LandmarkPlace("leg", (0.000, 0.522, 0.046), (0.016, 0.016, 0.015), 1.0),
    "epicondyle_lateral": LandmarkPlace("leg", (0.005, 0.277, 0.031), (0.014, 0.013, 0.012)),
    "epicondyle_medial": LandmarkPlace("leg", (0.007, 0.270, -0.042), (0.014, 0.013, 0.014), 1.0),
    "fibula_head": LandmarkPlace("leg", (-0.007, 0.244, 0.026), (0.013, 0.011, 0.010), 3.0),
    "tibial_tuberosity": LandmarkPlace("leg", (0.031, 0.236, -0.005), (0.011, 0.013, 0.012), 3.0),
    "malleolus_lateral": LandmarkPlace("foot", (0.041, 0.037, 0.023), (0.012, 0.010, 0.009)),
    "malleolus_medial": LandmarkPlace("foot", (0.044, 0.040, -0.030), (0.012, 0.010, 0.009), 1.0),
    "calcaneus": LandmarkPlace("foot", (0.000, 0.010, 0.000), (0.009, 0.010, 0.006)),
    "metatarsal_1": LandmarkPlace("foot", (0.118, 0.007, -0.029), (0.014, 0.008, 0.009), 1.0),
    "metatarsal_5": LandmarkPlace("foot", (0.106, 0.004, 0.030), (0.016, 0.008, 0.009), 1.0),
    "metatarsal_2": LandmarkPlace("foot", (0.122, 0.011, -0.008), (0.014, 0.008, 0.008), 4.0),
    "metatarsal_3": LandmarkPlace("foot", (0.118, 0.010, 0.006), (0.014, 0.008, 0.008), 6.0),
    "toe": LandmarkPlace("foot", (0.128, 0.010, 0.000), (0.020, 0.009, 0.009), 1.0),
    "hallux": LandmarkPlace("foot", (0.145, 0.005, -0.026), (0.014, 0.008, 0.010), 5.0),
}
"""Usual places of landmarks on a right leg; roles of rtsim.config.runs.lab_schema that have a place of
their own."""
MIDDLE = ("sacrum",)
"""Roles of the middle of the body, which both legs share."""
