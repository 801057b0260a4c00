"""`soloist bench`: how fast it is on this machine, with real processes on a real server, beside the floor."""
