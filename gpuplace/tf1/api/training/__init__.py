"""Namespaces of pipelines, tables, queues and estimators."""
