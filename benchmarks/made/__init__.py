"""Synthetic data and rivals for benchmarks."""
