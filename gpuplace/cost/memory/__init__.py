"""Memory of GPUs foretold."""
