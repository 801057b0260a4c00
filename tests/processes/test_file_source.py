"""A source that reads a file, its generators killed one after another; at length: tools/file_source.py."""

from tests.processes.crew import Crew
from tools.file_source import Growing, kill_generators


def test_a_file_is_published_byte_for_byte_whoever_is_killed(crew: Crew) -> None:
    """G2, M4: cursor and messages are stored in one step; six generators, each killed 200 ms after its election."""
    figures = kill_generators(crew, Growing(crew.folder / "file"), kills=6, after=0.2)

    assert figures["equal"], figures
    assert figures["terms"] >= 7
    assert figures["in_the_middle"] >= 3, "else nothing was shown: generators died without having read anything"
