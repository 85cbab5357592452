"""Detection of faults of markers: outliers, exchanged labels, displaced, frozen, late or smoothed markers."""
