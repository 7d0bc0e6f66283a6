"""Reports of the results of this room."""
