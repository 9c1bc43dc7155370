"""Findings: what stands out in a predicted step, and what would change it."""
