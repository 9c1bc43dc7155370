"""What is shown of a placement, as records and strings: colours, scopes, DOT text, tables."""
