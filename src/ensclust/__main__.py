"""``python -m ensclust``: the command line, where its script is not on the path."""

from ensclust.cli import main

main()
