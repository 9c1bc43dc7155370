"""Measuring how long the steps of this machine take, for a cost model of it."""
