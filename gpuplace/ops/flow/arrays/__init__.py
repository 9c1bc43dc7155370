"""Arrays of tensors: ``TensorArray`` with a handle, as a list, and what is known of one."""
