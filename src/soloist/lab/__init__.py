"""What measurements and trials with real processes are made of: a private server, processes on a leash, a probe."""
