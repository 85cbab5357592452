"""Code that commands share: options, types of values, terminal, ports, keys."""
