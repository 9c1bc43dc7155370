"""Sessions: devices of a process, their memory, plans, executors."""
