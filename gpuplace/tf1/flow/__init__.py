"""Critical sections, Python functions in a graph, and subscriptions."""
