"""What `scripts/benchmark.py` measures of maple, and what it is compared with."""
