"""Schedules: which steps run, in which order, on which device, and with which copies."""
