"""Critical sections, functions that run immediately, subscriptions."""
