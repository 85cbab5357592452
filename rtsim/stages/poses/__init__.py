"""Results of the pose, and the status of its joints and segments."""
