"""Breaking the real thing: faults between instances and their server."""
