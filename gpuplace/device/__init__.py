"""Devices: their names, the machines that contain them, and which of them a process sees."""
