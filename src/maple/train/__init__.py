"""Training: self-play and PPO over many processes, measured, and resumable. See docs/training.md."""
