"""What an exception of the user's code says, as text that can be stored."""

from collections.abc import Callable


def text(of: Callable[[], str]) -> str:
    """It may quote bytes that are no text, or fail to say anything."""
    try:
        return of().encode(errors="backslashreplace").decode()
    except BaseException:  # noqa: BLE001 - __str__ is the user's code as well
        return ""


def told(error: BaseException, most: int = 200) -> str:
    """In one line: its type and what it says."""
    said = text(lambda: str(error)).split("\n", 1)[0]
    return f"{type(error).__name__}: {said}"[:most] if said else type(error).__name__
