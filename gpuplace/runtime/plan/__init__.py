"""Compile a signature of feeds and fetches to a plan: a schedule, and one Python function that runs it."""
