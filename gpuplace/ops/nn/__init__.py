"""Ops of neural networks, and their arithmetic."""
