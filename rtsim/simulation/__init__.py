"""Models forward in time: what a simulation is made of, where it starts, how it runs, what it leaves."""
