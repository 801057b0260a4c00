"""An App in your tests: real instances in the process of the test, on a private server, with time by hand.

    with testing.run(app, instances=2) as system:
        system.publish("order", {"number": 1})
        system.wait_until_empty()

Nothing happens there by itself but the handling of messages: a tick comes when the clock is stepped, a source is called when
it is polled, an instance dies when it is killed.

    system    `run`, and the system that a test works with
    staff     its instances
    stepping  time goes by, from due moment to due moment
    kit       what the systems of one test have in common
    member    one instance in this process: started, stopped, killed
    clock     the clock of the schedules, and when what is due
    waiting   what is still to be done, and the picture of it when it does not come to its end
    failures  what handlers raised, as exceptions of the test
    polls     sources that are called when they are polled
    producer  what app.publish publishes with meanwhile
    place     its server, namespace and settings
    server    which server: one that is named, or a private one of this process
    sweeper   what is left on a server of somebody else's, if this process is killed
    pytest    the same as a fixture
"""

from soloist.testing.failures import HandlerFailed, SourceFailed
from soloist.testing.kit import Kit
from soloist.testing.member import Member
from soloist.testing.system import System, run
from soloist.testing.waiting import NotEmpty

__all__ = ["HandlerFailed", "Kit", "Member", "NotEmpty", "SourceFailed", "System", "run"]
