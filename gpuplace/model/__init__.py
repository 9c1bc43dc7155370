"""The subject of a request (a step), and the structure of its model: roles, layers, towers and series."""
