"""Traces of steps: step statistics, partition graphs, cost graph, Chrome traces."""
