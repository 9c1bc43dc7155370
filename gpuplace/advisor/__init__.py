"""Better placements: problems of nodes, edges and devices, a search of their splits, and bounds of all splits."""
