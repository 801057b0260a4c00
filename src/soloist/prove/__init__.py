"""Prove that a handler or a source may be killed at every line.

A function of the user's is run once to its end. Then once more for each line that it executed: killed right after that
line, as `kill -9` would, and begun again by another process, as another instance would. The outside world must be the same
in the end. What cannot be the same without care is a charge, a row, a mail: an effect outside of Redis.

    crash_points  the lines: where a process can be killed, and which of these moments are tried
    own_code      which lines count: the user's own, not those of libraries
    child         one process: forked, killed or ended, and what it reported
    life          what runs in it as in an instance: lifespan, event loop, a thread for the function
    handling      a message in the hands of a handler: attempt by attempt, each in a process
    reading       a source: call by call, page by page
    history       what happened in one run, process by process
    world         the outside world, by functions of the user's
    outcome       what came of it, and how two outcomes differ; pure
    proving       the order of it all
    verdict       what was found, in words; pure
    pytest        the same as a fixture

What holds in Redis is not tried here, it is known: an attempt that was killed leaves nothing there, one that completes
leaves all that it asked for, and a page is published together with its cursor. So no server is needed.
"""

from soloist.prove.proving import prove_handler, prove_source
from soloist.prove.verdict import Finding, Verdict

__all__ = ["Finding", "Verdict", "prove_handler", "prove_source"]
