"""Conversion from and to TensorFlow's protobuf messages.

Only this package imports protobuf. Nothing here is imported before a message is needed.
"""
