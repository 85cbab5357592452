"""From a received frame to a result frame: the door, the method, the fields."""
