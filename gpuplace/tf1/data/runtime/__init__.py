"""Execution of pipelines: stages that compute the elements of iterators."""
