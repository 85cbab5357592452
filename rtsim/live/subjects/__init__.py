"""Which person a run follows, and whether the markers are this person's."""
