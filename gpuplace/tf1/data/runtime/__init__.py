"""What runs when an iterator asks for an element."""
