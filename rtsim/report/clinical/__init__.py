"""The report that a clinician reads: what it holds, its pages, and its tables."""
