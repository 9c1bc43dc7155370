"""Graphs: operations, tensors, scopes, and the signatures of ops."""
