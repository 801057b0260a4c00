"""Schedules: when a tick is due, and what becomes of those that were missed. Pure: no I/O, no clock of its own."""
