"""The explorer: an interactive view of a placement and its settings, as a widget."""
