"""Parts of the stages of a run with a device."""
