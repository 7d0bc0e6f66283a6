"""`python -m ranker` is `rank-models`."""

from ranker.cli import main

main()
