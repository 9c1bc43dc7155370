"""Gradients: gradient functions by op type, and the backward walk that combines them."""
