"""Sweeps: many graphs on many machines with many configs, on all cores or on any dask cluster; a row for each case."""
