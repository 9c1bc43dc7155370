"""Kernel times on the GPUs of the catalogue: computed from data sheets, corrected by measurements of similar GPUs."""
