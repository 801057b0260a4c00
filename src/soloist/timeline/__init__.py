"""The timeline of a system as one page: instances as lanes, roles as colours, transitions and faults as marks.

`reading.py` makes a `Timeline` (model.py) of the common log, the history and, in a chaos run, the faults; `page.py` writes
it. Nothing in here speaks to a server or asks for the time: all times are the server's, in milliseconds.
"""
