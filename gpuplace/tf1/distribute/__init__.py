"""Distribution strategies: run a model on several devices."""
