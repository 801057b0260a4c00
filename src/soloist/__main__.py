"""`python -m soloist` is the command line."""

from soloist.cli.main import main

main()
