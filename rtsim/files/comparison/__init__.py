"""Where, and by how much, two runs part: their quantities, statuses, frames and settings."""
