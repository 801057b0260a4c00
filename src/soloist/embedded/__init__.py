"""The embedded server: one per user and machine, the first process starts it, the others join.

The idea, in full
-----------------
Whether something lives is never read from a file that somebody wrote, only from locks (flock), because the kernel
releases a lock however its holder dies. All of it is in one folder (`$SOLOIST_HOME`, else `$XDG_STATE_HOME/soloist`,
else `~/.local/state/soloist`):

    users.lock        shared, by every process that uses the server, for its life
    start.lock        exclusive, by the one process that starts (or stops) the server
    supervisor.lock   exclusive, by the supervisor, for its life
    server.lock       exclusive, by the supervisor and, inherited, by the server: as long as it is held, nobody else
                      may open data/
    server.json       where the server is, and its password (mode 0600); there while it may be joined
    stop.request      somebody asks the supervisor to stop
    server.log        what the supervisor and the server say
    data/             the server's working folder: its append-only file, which outlives the server

    user                                   supervisor (detached)              server
    ----                                   ---------------------              ------
    users.lock shared
    supervisor.lock held?  -- yes --> wait until server.json and an answer are there: joined
      no: start.lock, look again, start -> supervisor.lock
          wait for its report              end what a dead supervisor left
                                           server.lock                 -----> inherits server.lock
                                           wait for an answer  <-----------   loopback, random port and password
          <-------- report ---------       server.json
    joined                                 watch: server gone?  -> quit
                                                  asked to stop? -> stop it, quit
                                                  users.lock free for 10 s?
                                                     take it exclusively -> stop the server, quit

Why there is no gap: a user takes users.lock *before* it looks, and the supervisor that stops for want of users holds it
exclusively from the decision to its end. So either the user came first, and the supervisor goes on; or it waits until
all is gone, and starts anew.

Who dies, and what happens: a user: its lock is free. The server: the supervisor quits; whoever is refused calls
`Embedded.ensure()`. The supervisor: on Linux the kernel sends the server SIGTERM; elsewhere the next supervisor asks it
over its own port, with its password, to shut down. In no case is a process ended on the word of a stored number.

What it is not: safe against a power cut within the last second (`appendfsync everysec`); shared between machines or
containers (the folder may be shared, the loopback address is not, and joining says so); hidden from root.
"""

from soloist.embedded.control import Status, status, stop
from soloist.embedded.launcher import Embedded, acquire

__all__ = ["Embedded", "Status", "acquire", "status", "stop"]
