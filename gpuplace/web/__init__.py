"""Scripts and style sheets of the explorer and of report pages, and the rules that Python and the scripts share."""
