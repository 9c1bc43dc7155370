"""What brings data into a graph: queues and the threads that fill them, files and their readers, tables."""
