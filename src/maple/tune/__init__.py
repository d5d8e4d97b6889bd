"""Finds the settings with which training is fastest on a machine: `python -m maple.tune`.

It tries pool, battles, workers, batch and threads, each for some seconds of real training. How well
something is learned is not its concern.
"""
