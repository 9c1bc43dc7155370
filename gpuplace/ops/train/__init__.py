"""Optimizers, learning rates, steps, and where variables of a cluster go."""
