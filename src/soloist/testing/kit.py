"""What the systems of one test have in common: where one has ended, the next one goes on."""

from collections.abc import Collection
from datetime import datetime
from typing import Self, Unpack

from soloist.app import App
from soloist.settings import Given
from soloist.testing import place, server
from soloist.testing.system import System, run


class Kit:
    """For one test: namespaces of its own, one for each App, which are removed at its end.

    Args:
        url: the server; else SOLOIST_TEST_URL, else a private one, started when it is first needed.
    """

    def __init__(self, url: str | None = None) -> None:
        self._url = url
        self._base = place.new_base()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        place.remove(self.url, self._base)

    @property
    def url(self) -> str:
        """Of the server."""
        return server.url_of(self._url)

    def run(
        self,
        app: App,
        instances: int = 1,
        *,
        now: datetime | None = None,
        kinds: Collection[str] | None = None,
        sources: bool = False,
        raise_errors: bool = True,
        **settings: Unpack[Given],
    ) -> System:
        """`testing.run` in the namespace that this App has in this test: what is there when it ends is there when it, or
        another, is run again.
        """
        return run(
            app,
            instances,
            url=self.url,
            base=self._base,
            now=now,
            kinds=kinds,
            sources=sources,
            raise_errors=raise_errors,
            **settings,
        )
