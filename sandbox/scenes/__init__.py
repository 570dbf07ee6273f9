"""What the world holds and what the walker is asked to do: data, no physics."""
