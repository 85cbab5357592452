"""Mutations of valid input, by its form: bytes, lines and numbers, elements, tables."""
