"""Clusters: TensorFlow's servers and the sessions with a target, on the connections of ``dask.distributed``."""
