"""The subject of a request: the part of a graph that a step runs, with its fetches and feeds."""
