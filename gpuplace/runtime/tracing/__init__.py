"""What a step leaves when it is traced: step statistics, partition graphs, cost graph, Chrome traces."""
