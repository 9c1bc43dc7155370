"""Neural network ops and their arithmetic."""
