"""Results as people read them: terminal tables and summaries of runs, simulations and fits, and the gait
report.
"""
