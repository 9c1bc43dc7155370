"""Input of a graph: queues and the threads that fill them, files and their readers, lookup tables."""
