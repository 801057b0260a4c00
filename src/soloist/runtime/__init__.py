"""What an instance does: one actor per file, all of the same shape (start, one step, stop).

    instance      join → play a role → quiet → leave; rebirth
    heartbeat     beats, adopts and loses terms, reclaims; its own thread and connection
    last_will     keeps the subscription whose end tells the others of our death
    generator     runs the sources and publishes, while the instance holds the term
    handler       claims, handles, completes
    turns         the numbered `next` calls of one incarnation
    election, cadence, batching   decisions without I/O

The runtime never uses the observation API, and nothing here decides what only a script may decide: what is known
locally ("I am the generator") saves round trips, no more.
"""
