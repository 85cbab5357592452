"""Papers whose methods this project implements: their figures and tables are recomputed and compared with the
printed values.

Each paper has a folder; its modules contain the items (figures and tables), which `catalogue` finds there.
"""
