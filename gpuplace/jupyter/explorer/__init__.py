"""The explorer: a placement with switches, as a widget."""
