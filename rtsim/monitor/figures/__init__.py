"""Figures that commands save to files: curves, stick figures, studies, markers, feet."""
