"""Mutation testing: changes drawn by seed into a copy of the sources, and whether the tests detect them."""
