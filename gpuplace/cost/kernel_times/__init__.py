"""Kernel times on the GPUs of the catalogue: computed from the data sheet, corrected by measurements of similar GPUs."""
