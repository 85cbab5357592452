"""Hill-type muscles: curves, rigid and elastic tendon, strengths of a model, activation."""
