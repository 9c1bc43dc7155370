"""SavedModels, trackable objects in checkpoints, and values of checkpoints in new variables."""
