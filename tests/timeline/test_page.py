"""timeline/page.py: the whole page."""

import re
from html.parser import HTMLParser

from soloist.timeline.model import Mark
from soloist.timeline.page import page
from soloist.timeline.summary import figures
from soloist.timeline.told import rows
from tests.timeline.story import Story, fault, ms, sample, two


class Tags(HTMLParser):
    """What is on a page, and where it leads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "xlink:href")]
        self.ids += [value or "" for name, value in attrs if name == "id"]


def incident() -> Story:
    story = two().at(40, "elected", 2, term=2, takeover_ms=400)
    return story.at(40.1, "reclaimed", 1, because="will", messages=3, heard_ms=450)


def test_the_page_needs_nothing_else() -> None:
    """No script, no style sheet, no picture, no font from anywhere; every link leads to a place on the page."""
    found = Tags(page(incident().told(faults=[fault("kill", 39.6, None, "#1")])))

    assert not {"script", "link", "img", "iframe", "object"} & set(found.tags)
    assert found.links
    assert {link.removeprefix("#") for link in found.links} <= set(found.ids)
    assert not re.search(r"@import|url\((?!#)", page(incident().told()))


def test_what_happened_stands_below_in_the_sentences_of_the_log() -> None:
    """With the time to the millisecond, in order; faults among them."""
    text = page(incident().told(faults=[fault("kill", 39.6, None, "#1", "kill -9 of the generator")]))
    table = text[text.index("What happened") :]

    sentences = [
        "#1 is the generator now (term 1)",
        "kill -9 of the generator",
        "#2 is the generator now (term 2); the one before it was last heard 400 ms before",
        "#1 is gone (its process ended); 3 messages wait again",
    ]
    places = [table.index(each) for each in sentences]
    assert places == sorted(places)
    assert table.count("<tr ") == 6
    assert '<span class="tag">fault</span> kill -9 of the generator' in table


def test_what_another_puts_above_and_below_stands_there() -> None:
    """A chaos run its verdict."""
    text = page(two().told(), intro_html="<p>verdict: ok</p>", sections_html="<h2>the plan</h2>")

    assert text.index("<h1>") < text.index("<p>verdict: ok</p>") < text.index("<svg class")
    assert text.index("What happened") < text.index("<h2>the plan</h2>")


def test_what_is_not_known_is_said() -> None:
    assert "reaches back to" in page(two().told(begun=-100, known_since_ms=ms(0)))


def test_a_time_in_which_nothing_happened_is_a_page_too() -> None:
    text = page(Story().told())

    assert "Nothing: nobody came, went or took over in this time." in text


def test_the_legend_explains_what_is_there_and_nothing_else() -> None:
    text = page(incident().told())
    legend = text[text.index('class="legend"') : text.index("</ul>", text.index('class="legend"'))]

    assert all(
        word in legend for word in ("generator", "handler", "not heard", "joined", "gone: what it held waits again")
    )
    assert not any(word in legend for word in ("frozen", "cut off", "fault", "paused"))


def test_text_from_outside_is_no_markup_on_the_page() -> None:
    text = page(
        Story().joined(1, 1, host="<img src=x onerror=alert(1)>").told(faults=[fault("<b>", 2, 3, None, "<i>")])
    )

    assert "<img" not in text
    assert "<b>" not in text[text.index("<svg class") :]
    assert "&lt;img src=x onerror=alert(1)&gt;" in text


def test_the_figures_tell_the_longest_time_without_a_generator() -> None:
    """And how many there were, at the end and in all; how much was published."""
    story = incident().at(60, "elected", 2, term=3, takeover_ms=100)
    told = {
        what.partition(",")[0]: value
        for value, what in figures(story.told(samples=[sample(0, 0, 0), sample(1, 50, 50), sample(2, 90, 50, 40)]))
    }

    assert told["longest without a generator"] == "400 ms"
    assert told["instances"] == "2"
    assert told["elections"] == "3"
    assert told["died or fell silent"] == "1"
    assert told["highest backlog"] == "40"


def test_swarms_are_one_row() -> None:
    """Refused calls of the same one, and failed messages; anything between them begins a new row."""
    marks = [Mark(ms(at), "failed", f"{at + 1} messages failed") for at in range(5)]
    other = Mark(ms(6), "joined", "#3 joined (vm, process 3)")
    late = [
        Mark(ms(7 + at), "superseded", f"a completion by #{at // 2} came too late and was refused") for at in range(4)
    ]

    table = rows([*marks, other, *late, marks[0]])

    assert [len(row.marks) for row in table] == [5, 1, 2, 2, 1]
    assert table[0].sentence.startswith("1 messages failed; and 4 more like it until ")
