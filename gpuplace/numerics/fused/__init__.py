"""GPU kernels for several operations at once, written from the functions that compute them."""
