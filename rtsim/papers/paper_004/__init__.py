"""A reduced muscle model and planar musculoskeletal model (Millard, Emonds, Harant, Mombaur 2019)."""

from rtsim.papers.item import Publication

PUBLICATION = Publication(
    "004",
    "A reduced muscle model and planar musculoskeletal model fit for the simulation of whole-body movements",
    "Millard, Emonds, Harant, Mombaur (2019), Journal of Biomechanics, doi 10.1016/j.jbiomech.2019.04.004",
)
