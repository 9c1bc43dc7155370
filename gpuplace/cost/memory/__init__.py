"""Predicted memory of devices."""
