"""On the path of processes that a script starts; see the module below."""
