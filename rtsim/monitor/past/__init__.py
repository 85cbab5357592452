"""Looking back at the last ten minutes while new data arrive."""
