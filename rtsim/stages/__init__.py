"""Stages that process a frame: one module for each, found by folder; see rtsim/stages/stage.py."""
