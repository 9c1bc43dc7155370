"""Sweeps: many graphs on many machines with many configs, on all cores or on a dask cluster."""
