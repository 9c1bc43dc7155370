"""Memory of GPUs predicted."""
