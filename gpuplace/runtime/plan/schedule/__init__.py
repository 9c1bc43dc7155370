"""Schedules: what runs, in which order, on which device, and what is copied in between."""
