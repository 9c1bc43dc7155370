"""Derivatives: gradient functions by op type, and the walk that puts them together."""
