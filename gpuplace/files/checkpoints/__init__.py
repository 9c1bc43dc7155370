"""Checkpoint files: what TensorFlow writes variables to, read and written without it.

``table`` has the sorted table that both formats are made of, ``bundle`` the format of today (``.index`` and ``.data``
files), ``tensor_slices`` the first one (one file a shard), and ``reader`` answers for either.
"""
