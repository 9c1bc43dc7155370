"""Measurement of this machine's step times, to fit a cost model."""
