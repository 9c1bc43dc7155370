"""Measured steps as timelines: lanes, copies, critical path, hints."""
