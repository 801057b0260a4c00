"""Celery with other sources of soloist (tests/rewriting.py): run as a program (PROGRAM)."""

import sys

from tests.rewriting import install

PROGRAM = (sys.executable, "-m", "tests.celery.rewritten")


def main() -> None:
    """Run celery."""
    install()
    from celery.__main__ import main as celery_main

    celery_main()


if __name__ == "__main__":
    main()
