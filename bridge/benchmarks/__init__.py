"""What `scripts/benchmark.py` measures, one module for each kind of row."""
