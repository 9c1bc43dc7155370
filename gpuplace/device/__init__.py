"""Devices: their names, the machines that carry them, and what a process may see of them."""
