"""Mutation testing: changes drawn by seed into a copy of the sources, and whether their tests notice."""
