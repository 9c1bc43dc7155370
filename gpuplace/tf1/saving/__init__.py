"""SavedModels, trackable objects in checkpoints, and variables initialized from checkpoints."""
