"""Clusters: TensorFlow's servers and the sessions with a target, on connections of ``dask.distributed``."""
