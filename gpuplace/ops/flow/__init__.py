"""Control flow: conditionals, loops, tensor arrays, and their gradients."""
