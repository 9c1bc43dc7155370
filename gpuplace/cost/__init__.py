"""Predicted cost of a step: work by shapes, kernel times, copies, schedule and memory."""
