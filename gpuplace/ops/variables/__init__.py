"""Variables: reference and resource variables, scopes, initial values."""
