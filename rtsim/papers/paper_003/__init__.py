"""Sancisi et al. 2017: multi-body optimisation with a knee of articular contacts and ligaments."""

from rtsim.papers.item import Publication

PUBLICATION = Publication(
    "003",
    "A multi-body optimization framework with a knee kinematic model including articular contacts and "
    "ligaments",
    "Sancisi, Gasparutto, Parenti-Castelli, Dumas 2017, Meccanica 52, 695-711",
)
