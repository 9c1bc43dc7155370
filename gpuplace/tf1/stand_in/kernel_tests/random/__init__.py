"""Helpers of tests of random values."""
