"""A person's mandible from a scan."""
