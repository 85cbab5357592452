"""Contact, friction, knee and foot: Brown (2017), MASc thesis, University of Waterloo."""

from rtsim.papers.item import Publication

PUBLICATION = Publication(
    "001",
    "Contact modelling for forward dynamics of human motion",
    "Brown (2017), MASc thesis, University of Waterloo",
)
