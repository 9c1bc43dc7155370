"""Graphs as pictures: boxes, edges, colours and layout, as records and strings."""
