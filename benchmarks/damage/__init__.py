"""Recordings damaged in known ways: errors of the angles, and whether the status reports them."""
