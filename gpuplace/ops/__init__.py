"""The op library: one block per op, listed by hand; importing this package registers all of them."""
