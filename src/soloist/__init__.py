"""soloist: one instance generates, all others handle, each message is completed exactly once, as long as Redis keeps
what it acknowledged. The guarantees with their limits: docs/guarantees.md.
"""

from soloist.app import App
from soloist.commit import Commit
from soloist.errors import NotPublished, Reject, Retry, SoloistError
from soloist.message import Message
from soloist.source import Msg, Page, Source

__version__ = "0.1.0"
__all__ = [
    "App",
    "Commit",
    "Message",
    "Msg",
    "NotPublished",
    "Page",
    "Reject",
    "Retry",
    "SoloistError",
    "Source",
    "__version__",
]
