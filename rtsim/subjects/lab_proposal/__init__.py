"""A marker map proposed from a static trial, by the names of its markers and by where they stand."""
