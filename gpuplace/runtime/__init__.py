"""Sessions, and what they run on: plans of steps, memory, backends, traces."""
