"""How a profile is arranged and printed: by name scope, by input, by line of Python, by op type."""
