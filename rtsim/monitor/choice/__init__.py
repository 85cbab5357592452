"""Which panels and curves the monitor window shows: chosen by task (a prepared selection, such as "muscles"),
by hand, and stored between starts.
"""
