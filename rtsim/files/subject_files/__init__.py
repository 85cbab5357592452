"""Measures of a person in files beside the recordings: .vsk and .mp files of Vicon."""
