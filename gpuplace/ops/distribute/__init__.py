"""Strategies that copy a model to several devices."""
