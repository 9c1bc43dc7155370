"""Graphs of TensorFlow objects in this process."""
