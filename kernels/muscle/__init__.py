"""Hill-type muscles: curves, rigid and elastic tendon, strengths of all muscles of a model, activation."""
