"""A device, a model, a stream and a crowd that lie, stall, flood and vanish beside `rtsim hil` and `rtsim device`."""
