"""Views of a profile: by name scope, by input, by Python line, by op type."""
