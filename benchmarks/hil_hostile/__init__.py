"""A device, a model, a stream and a crowd that are hostile beside `rtsim hil` and `rtsim device`."""
