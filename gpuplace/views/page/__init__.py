"""The report page: a placement as one HTML file."""
