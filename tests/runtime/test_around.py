"""Functions around handlers, in a running instance, however the handlers are called."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from soloist import App, Message, Msg, Page, Reject
from tests.servers import PrivateServer
from tests.waiting import wait_until


@pytest.fixture
def app(server: PrivateServer, namespace: str) -> Iterator[App]:
    made = App("wrapped", url=server.url, namespace=namespace)
    yield made
    made.stop()


@pytest.mark.parametrize("flavour", ["inline", "threads", "async", "batch", "async batch"])
def test_it_is_around_every_call_and_sees_what_was_raised(app: App, flavour: str) -> None:
    """One by one, in threads, as tasks, in batches."""
    seen: list[str] = []

    @app.source(every=0.01)
    def once(source: Any) -> Page[int] | None:
        return None if source.cursor else Page([Msg("job", "good"), Msg("job", "bad")], cursor=1)

    def judge(given: Any) -> None:
        if "bad" in bodies(given):
            raise Reject("as it should")

    async def judge_async(given: Any) -> None:
        judge(given)

    batch = 2 if "batch" in flavour else None
    declare = app.handler("job", concurrency=3 if flavour == "threads" else None, batch=batch)
    declare(judge_async if "async" in flavour else judge)

    @app.around
    def traced(call: Callable[[Any], Any], message: Any) -> Any:
        try:
            return call(message)
        except Reject as error:
            seen.append(f"{','.join(bodies(message))}: {error}")
            raise

    @app.around
    async def traced_async(call: Callable[[Any], Any], message: Any) -> Any:
        try:
            return await call(message)
        except Reject as error:
            seen.append(f"{','.join(bodies(message))}: {error}")
            raise

    app.start()
    wait_until(
        lambda: app.inspect().pending + app.inspect().claimed == 0 and app.inspect().failed, what="all is handled"
    )

    assert seen == [f"{'good,bad' if batch else 'bad'}: as it should"]


def bodies(given: Message | list[Message]) -> list[str]:
    return [message.body for message in (given if isinstance(given, list) else [given])]
