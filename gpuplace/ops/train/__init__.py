"""Optimizers, learning rates, global steps, and devices of variables in a cluster."""
