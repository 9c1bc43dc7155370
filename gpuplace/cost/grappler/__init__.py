"""Rewrites of a step by Grappler, TensorFlow's graph optimizer: folded constants, unused nodes, fused kernels."""
