"""Object-based checkpoints: dependencies between objects, and values still to be restored."""
