"""Training by self-play over many processes, measured and resumable: see docs/training.md."""
