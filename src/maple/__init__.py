"""Learning to battle: environments on top of the bridge, and what trains and profiles on them."""
