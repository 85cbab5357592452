"""Force-dependent kinematics of the mandible (Andersen, de Zee, Damsgaard, Nolte, Rasmussen 2017)."""

from rtsim.papers.item import Publication

PUBLICATION = Publication(
    "000",
    "Introduction to force-dependent kinematics: theory and application to mandible modeling",
    "Andersen, de Zee, Damsgaard, Nolte, Rasmussen (2017), J Biomech Eng 139, 091001",
)
