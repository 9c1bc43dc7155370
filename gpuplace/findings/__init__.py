"""Findings: the causes that cost a predicted step time or memory, each with the change that removes it."""
