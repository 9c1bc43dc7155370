"""Training sessions: hooks, monitored sessions and supervisors, which initialise, restore, save, log and stop."""
