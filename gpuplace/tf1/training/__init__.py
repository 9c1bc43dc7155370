"""Training sessions: hooks, monitored sessions and supervisors, which initialize, restore, save, log and stop."""
