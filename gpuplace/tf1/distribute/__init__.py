"""Strategies that run a model on several devices."""
