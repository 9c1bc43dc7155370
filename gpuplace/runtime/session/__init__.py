"""Sessions: what runs a graph, and what all sessions of a process share."""
