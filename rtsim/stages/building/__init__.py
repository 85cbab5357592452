"""How the stages of a run are found, checked and built from what each declares."""
