"""Serves a pool as a process of its own: its life, its endpoints, its status. Plays no battle."""
