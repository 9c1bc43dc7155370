"""Recurrent nets: cells, and what runs them over sequences."""
