"""The person whose markers a run tracks, and whether the markers belong to this person."""
