"""Variables: reference and resource variables, scopes, initializers."""
