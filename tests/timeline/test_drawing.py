"""timeline/drawing.py: whatever happened, the drawing is well formed, whole, and stays inside its frame."""

import random
import re
from collections.abc import Iterator
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from soloist.timeline.charts import charts
from soloist.timeline.drawing import LEFT, RIGHT, drawing, lane_height
from soloist.timeline.marks import grouped
from soloist.timeline.model import Lane, Mark, Role, Stretch, Timeline
from soloist.timeline.scale import Scale
from soloist.timeline.told import anchors, rows
from soloist.timeline.words import span
from tests.timeline.story import Story, fault, ms, sample, two

SVG = "{http://www.w3.org/2000/svg}"


def crowd(instances: int, events: int, seconds: float, seed: int = 1) -> Story:
    """So many instances, and so many transitions of all kinds, at random moments."""
    chance, story, term = random.Random(seed), Story(), 1
    for number in range(1, instances + 1):
        story.joined(number / 1000, number, host=f"host-{number % 7}.example.org")
    story.at(0.5, "elected", 1, term=1, takeover_ms=0)
    moments = sorted(chance.uniform(1, seconds) for _ in range(events))
    for at in moments:
        number = chance.randint(1, instances)
        match chance.randint(0, 5):
            case 0:
                term += 1
                story.at(at, "elected", number, term=term, takeover_ms=chance.randint(0, 2500))
            case 1:
                story.at(at, "superseded", number, what="next")
            case 2:
                story.at(at, "reclaimed", number, because="will", messages=2, heard_ms=400)
            case 3:
                story.joined(at, number, instance=f"i{number}-{at}")
            case 4:
                story.at(at, "paused", kind="default")
            case _:
                story.at(at, "failed", messages=7)
    return story


def crowded(instances: int, events: int, seconds: float) -> Timeline:
    samples = [sample(at, 20 * at, 19 * at, at % 90) for at in range(0, int(seconds), max(1, int(seconds) // 500))]
    faults = [
        fault("freeze", seconds * at / 20, seconds * (at + 0.5) / 20, f"#{1 + at % instances}") for at in range(20)
    ]
    faults += [fault("restart", seconds / 2, seconds / 2 + 1), fault("kill", seconds, None, "#1")]
    return crowd(instances, events, seconds).told(-1, seconds, samples=samples, faults=faults, known_since_ms=ms(0))


SIZES = [(3, 10, 30.0), (3, 1000, 30.0), (30, 10, 7200.0), (30, 1000, 7200.0), (60, 300, 900.0), (1, 0, 1.0)]


@pytest.fixture(params=SIZES, ids=lambda size: f"{size[0]} instances, {size[1]} events, {size[2]:.0f} s")
def timeline(request: pytest.FixtureRequest) -> Timeline:
    return crowded(*request.param)


def parsed(timeline: Timeline) -> ET.Element:
    marks = [mark for lane in timeline.lanes for mark in lane.marks]
    return read(drawing(timeline, anchors(rows(marks))))


def read(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 - we have just written it


def frame(root: ET.Element) -> tuple[float, float]:
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    return width, height


def corners(element: ET.Element) -> Iterator[tuple[float, float]]:
    """Points that an element reaches."""
    at, name = element.attrib, element.tag.removeprefix(SVG)
    if name == "rect":
        x, y = float(at["x"]), float(at["y"])
        yield from ((x, y), (x + float(at["width"]), y + float(at["height"])))
    elif name == "circle":
        x, y, radius = float(at["cx"]), float(at["cy"]), float(at["r"])
        yield from ((x - radius, y - radius), (x + radius, y + radius))
    elif name == "polygon":
        yield from (tuple(map(float, point.split(",")))[:2] for point in at["points"].split())  # type: ignore[misc]
    elif name == "text":
        x, wide = float(at["x"]), 5.5 * len(element.text or "")
        side = at.get("text-anchor", "start")
        left = x - (wide if side == "end" else wide / 2 if side == "middle" else 0)
        yield from ((left, float(at["y"]) - 8), (left + wide, float(at["y"])))
    elif name == "path":
        yield from path_points(at["d"])


def path_points(path: str) -> Iterator[tuple[float, float]]:
    assert not re.search(r"[a-y]", path), f"only absolute steps: {path}"
    x = y = 0.0
    for step, numbers in re.findall(r"([MLHVz])([^MLHVz]*)", path):
        values = [float(number) for number in numbers.split()]
        if step in "ML":
            x, y = values
        elif step in "HV":
            x, y = (values[0], y) if step == "H" else (x, values[0])
        yield x, y


def shapes(root: ET.Element) -> list[ET.Element]:
    """Everything that is drawn; patterns are not."""
    defined = {id(each) for pattern in root.iter(f"{SVG}defs") for each in pattern.iter()}
    return [each for each in root.iter() if id(each) not in defined]


def test_nothing_is_drawn_outside_the_frame(timeline: Timeline) -> None:
    """With few and many lanes, few and many marks, in half a minute and in two hours."""
    root = parsed(timeline)
    width, height = frame(root)

    found = [(each, point) for each in shapes(root) for point in corners(each)]
    assert len(found) > 20
    for element, (x, y) in found:
        assert -0.5 <= x <= width + 0.5, ET.tostring(element)
        assert -0.5 <= y <= height + 0.5, ET.tostring(element)


def test_no_stretch_has_a_negative_width(timeline: Timeline) -> None:
    assert all(float(each.attrib["width"]) > 0 for each in shapes(parsed(timeline)) if each.tag == f"{SVG}rect")


def test_every_lane_has_its_name(timeline: Timeline) -> None:
    texts = [each.text for each in parsed(timeline).iter(f"{SVG}text")]

    assert {lane.name for lane in timeline.lanes} <= set(texts)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_election_and_every_fault_has_its_own_sign(size: tuple[int, int, float]) -> None:
    """However many there are."""
    timeline = crowded(*size)
    marks = [*timeline.server, *(mark for lane in timeline.lanes for mark in lane.marks)]
    classes = [each.attrib.get("class") for each in shapes(parsed(timeline))]

    assert classes.count("elected") == sum(mark.what == "elected" for mark in marks)
    assert classes.count("fault") == sum(mark.is_fault for mark in marks)


def test_every_mark_is_told_when_one_points_at_it(timeline: Timeline) -> None:
    """Each by itself, or in its group; of a large group the first ones, and how many more there are."""
    titles = [each.text or "" for each in parsed(timeline).iter(f"{SVG}title")]
    marks = [mark for lane in timeline.lanes for mark in lane.marks]
    lines = [line for title in titles for line in title.splitlines()]

    told = sum(1 for mark in marks if any(mark.told in line for line in lines))
    more = sum(int(line.split()[1].replace(",", "")) for line in lines if line.startswith("and "))
    assert told + more >= len(marks)


def test_marks_that_would_cover_each_other_are_one_group() -> None:
    """No wider than a sign, and nobody is left out."""
    scale = Scale(ms(0), ms(100), LEFT, RIGHT)
    marks = [Mark(ms(at / 100), "superseded", "refused") for at in range(10_000)]

    groups = grouped(marks, scale)

    assert sum(map(len, groups)) == 10_000
    assert len(groups) < 130
    assert all(scale.x(group[-1].at_ms) - scale.x(group[0].at_ms) < 9 for group in groups)


def test_a_group_says_how_many_it_has() -> None:
    story = two()
    for at in range(40):
        story.at(50 + at / 1000, "superseded", 2, what="next")

    texts = [each.text for each in parsed(story.told()).iter(f"{SVG}text")]
    titles = [each.text or "" for each in parsed(story.told()).iter(f"{SVG}title")]

    assert "40" in texts
    assert any(title.endswith("and 28 more") for title in titles)


def test_text_from_outside_is_no_markup() -> None:
    """Hosts name themselves, and a chaos run says what it likes."""
    evil = "<script>alert(1)</script>&\"'"
    lane = Lane(
        evil, (evil,), (Stretch(ms(0), ms(9), Role.GENERATOR, evil, 1, 300),), (Mark(ms(5), evil, evil, ms(6), True),)
    )
    timeline = Timeline(evil, ms(0), ms(10), (lane,), (Mark(ms(1), evil, evil, None, True),))

    root = read(drawing(timeline))

    assert not list(root.iter("script")) + list(root.iter(f"{SVG}script"))
    assert evil in [each.text for each in root.iter(f"{SVG}text")]


def test_the_term_stands_in_the_stretch_and_the_takeover_above_it() -> None:
    """Where there is room."""
    story = two().at(50, "elected", 2, term=2, takeover_ms=2310)
    texts = [each.text for each in parsed(story.told()).iter(f"{SVG}text")]

    assert {"term 1", "term 2", "#2 term 2", "2.31 s"} <= set(texts)


def test_the_longest_takeovers_are_the_ones_that_are_written() -> None:
    """Where there is no room for all; the others are told when one points at them."""
    story = two()
    for at in range(2, 60):
        story.at(2 + at / 100, "elected", 1 + at % 2, term=at, takeover_ms=5)
    story.at(4, "elected", 1, term=60, takeover_ms=700)

    root = parsed(story.told())
    assert "700 ms" in [each.text for each in root.iter(f"{SVG}text")]
    assert sum("no generator was heard for 5 ms" in (each.text or "") for each in root.iter(f"{SVG}title")) == 58


def test_a_fault_of_the_server_goes_through_all_lanes() -> None:
    timeline = two().told(faults=[fault("restart", 40, 50)])
    (band,) = [each for each in shapes(parsed(timeline)) if each.attrib.get("class") == "band"]

    assert float(band.attrib["height"]) > 100
    assert float(band.attrib["width"]) == pytest.approx((RIGHT - LEFT) / 10, abs=0.2)


@pytest.mark.parametrize(
    ("events", "is_named"),
    [(["failed"], False), (["paused"], True), (["paused", "failed"], True), (["paused", "requeued"], False)],
)
def test_a_pause_is_named_where_there_is_room(events: list[str], is_named: bool) -> None:
    """Up to the next mark; those of failed messages, which are many, lie below."""
    story = two()
    for at, event in enumerate(events):
        story.at(50 + at / 10, event, kind="default", messages=1)

    assert ("paused" in [each.text for each in parsed(story.told()).iter(f"{SVG}text")]) == is_named


def test_lanes_become_narrower_up_to_a_point() -> None:
    assert lane_height(1) == lane_height(10) == 30
    assert lane_height(30) == 18
    assert lane_height(500) == 17


def test_without_rates_it_is_said_why() -> None:
    told, _ = charts([], Scale(0, 1000, LEFT, RIGHT), 10)

    assert "nobody generated" in told


# The axis.


@pytest.mark.parametrize("seconds", [1, 7, 30, 60, 900, 3600, 7200, 86400, 10 * 86400, 400 * 86400])
def test_times_on_the_axis_are_in_order_and_do_not_touch(seconds: int) -> None:
    scale = Scale(ms(0) + 123, ms(seconds) + 123, LEFT, RIGHT)
    ticks = scale.ticks()

    places = [scale.x(at) for at, _ in ticks]
    assert 0 < len(ticks) <= 13
    assert all(later - earlier >= 80 for earlier, later in pairwise(places))
    assert all(scale.begun_ms <= at <= scale.ended_ms for at, _ in ticks)


@pytest.mark.parametrize(
    ("length", "written"),
    [
        (0, "0 ms"),
        (321, "321 ms"),
        (2310, "2.31 s"),
        (12_340, "12.3 s"),
        (59_999, "1 min"),
        (65_000, "1 min 5 s"),
        (3_600_000, "1 h"),
        (7_380_000, "2 h 3 min"),
        (90_000_000, "1 d 1 h"),
    ],
)
def test_lengths_of_time_are_short(length: int, written: str) -> None:
    assert span(length) == written
