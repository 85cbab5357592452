"""Finding, checking and building the stages of a run, each of which is a computation on every frame, from the
declarations in their modules.
"""
