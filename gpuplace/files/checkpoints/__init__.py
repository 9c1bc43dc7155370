"""Checkpoint files: read and write TensorFlow's variable values without TensorFlow.

``table`` implements the sorted table of both formats, ``bundle`` the current format (``.index`` and ``.data`` files),
``tensor_slices`` the first format (one file for each shard), and ``reader`` reads both.
"""
