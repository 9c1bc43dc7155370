"""Random numbers of rarer distributions, and without state."""
