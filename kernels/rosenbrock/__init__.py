"""Fixed-step Rosenbrock integration of stiff systems."""
