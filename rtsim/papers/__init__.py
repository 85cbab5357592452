"""Papers whose methods this project has: their figures and tables computed anew, beside the printed numbers.

A folder for each paper; its modules hold the items, which `catalogue` finds there.
"""
