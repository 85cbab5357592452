"""A marker map proposed from a static trial, by the names and the positions of its markers."""
