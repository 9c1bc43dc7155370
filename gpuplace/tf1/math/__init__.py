"""Signal processing, special functions and matrix functions."""
