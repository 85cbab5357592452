"""Papers whose methods this project implements: their figures and tables are recomputed and compared with the
printed values.

Each paper has a folder. Its modules define the figures and tables ("items") of the paper, which `catalogue`
finds there.
"""
