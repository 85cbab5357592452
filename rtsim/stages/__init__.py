"""What can be done with a frame: one module a stage, found by folder; see rtsim/stages/stage.py."""
