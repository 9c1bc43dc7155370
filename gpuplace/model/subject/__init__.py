"""The subject of a question: the part of a graph that a step runs, its fetches and feeds."""
