"""A folder on the path of the processes that a script starts; see the module below."""
