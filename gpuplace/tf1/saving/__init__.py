"""SavedModels, trackable objects in checkpoints, and variables initialised from checkpoints."""
