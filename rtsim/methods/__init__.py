"""Computations from measurements to results: poses, joint loads, muscles, contacts, gait, and checks of the
data.
"""
