"""A scheduler for `celery beat`, on a Redis broker: any number of beats, and one of them sends.

    celery -A proj beat -S soloist

A beat is a soloist instance without handlers, in a namespace of its own on the broker: who sends is elected, and takes
over, as everywhere. What is due is composed by Celery itself; but what it would write to the broker is caught on its way
(transport.py), and one script writes it (store/lua/send.lua): it checks the term, and stores the entry's last run in the
same step. So a beat that was frozen and wakes sends nothing, and a successor knows exactly what was sent.

See docs/celery.md.
"""

from soloist.celery.scheduler import Scheduler

__all__ = ["Scheduler"]
