"""The step that a question is about, and the structure of its model: roles, layers, towers and series."""
