"""The gait report for clinicians: its content, its pages, and its tables."""
