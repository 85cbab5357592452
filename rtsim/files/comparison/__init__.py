"""Comparison of two runs: where and by how much their quantities, statuses, frames and settings differ."""
