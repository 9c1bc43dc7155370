"""Scripts and style sheets of the explorer and of report pages, and what Python and the scripts both go by."""
