"""Made-up data and rivals that benchmarks need."""
