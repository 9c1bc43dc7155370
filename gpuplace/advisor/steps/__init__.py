"""Recommendations for steps: possible devices, the search, TensorFlow's placement of the result, and reports."""
