"""Paper 002: How to compute muscle moment arm using generalized coordinates (Sherman, Seth, Delp 2010)."""

from rtsim.papers.item import Publication

PUBLICATION = Publication(
    "002",
    "How to compute muscle moment arm using generalized coordinates",
    "Sherman, Seth, Delp (2010), rev. 0.2, Simbody documentation",
)
