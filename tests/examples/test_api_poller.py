"""examples/api_poller: pages, a cursor, and the API's word on when to come again."""

import re
from collections.abc import Callable, Iterator
from email.message import Message
from itertools import pairwise

import pytest

from examples.api_poller.poller import UNSAID, seconds_to_wait
from tests.examples.conftest import Deploy
from tests.examples.fake_api import FakeApi
from tests.waiting import wait_until

pytestmark = pytest.mark.one_server

EVENTS = 75


@pytest.fixture
def api() -> Iterator[Callable[..., FakeApi]]:
    made: list[FakeApi] = []

    def of(**refusals: tuple[int, str]) -> FakeApi:
        made.append(FakeApi(EVENTS, {int(name.removeprefix("request_")): each for name, each in refusals.items()}))
        return made[-1]

    yield of
    for each in made:
        each.close()


def keys_printed(lines: list[str]) -> list[int]:
    """Beside what the handler prints stand the words of the instance itself."""
    found = (re.match(r"(\d+) \{", line) for line in lines)
    return [int(each[1]) for each in found if each]


def test_every_event_is_handled_once_and_the_api_is_left_alone_as_long_as_it_says(
    deploy: Deploy, api: Callable[..., FakeApi]
) -> None:
    """Asked again after a refusal: with the same cursor, and not before Retry-After is over."""
    fake = api(request_1=(429, "2"), request_4=(503, "2"))  # longer than `every` of the source
    poller = deploy("api_poller", EVENTS_API=fake.url)
    poller.start(2)

    poller.wait_until_handled(EVENTS)
    assert poller.end() == [0, 0]

    assert sorted(keys_printed(poller.printed())) == list(range(1, EVENTS + 1))
    refused = [(earlier, later) for earlier, later in pairwise(fake.asked) if earlier.refused]
    assert len(refused) == 2
    for earlier, later in refused:
        assert later.after == earlier.after
        assert later.at - earlier.at >= 2


def test_the_next_poller_goes_on_where_the_killed_one_stored_its_page(
    deploy: Deploy, api: Callable[..., FakeApi]
) -> None:
    """The cursor comes from Redis: no event is lost, none is published twice."""
    fake = api(request_4=(429, "3600"))  # the first poller stops here, with three pages published
    poller = deploy("api_poller", EVENTS_API=fake.url)
    poller.start(2)
    wait_until(lambda: any(asked.refused for asked in fake.asked), what="the API has refused")

    poller.kill_generator()
    seen = poller.wait_until_handled(EVENTS)
    assert poller.end() == [0]

    assert [asked.after for asked in fake.asked[2:5]] == ["c20", "c30", "c30"]
    assert (seen.published, seen.completed) == (EVENTS, EVENTS)
    assert set(keys_printed(poller.printed())) == set(range(1, EVENTS + 1))


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("120", 120),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),  # over: come at once
        ("soon", UNSAID),
        ("", UNSAID),
    ],
)
def test_retry_after_is_seconds_or_a_date(said: str, seconds: float) -> None:
    """And where it is neither, a while."""
    headers = Message()
    headers["Retry-After"] = said

    assert seconds_to_wait(headers) == seconds
