"""Battles as environments: what an agent sees, what it may do, and what it is rewarded for."""
