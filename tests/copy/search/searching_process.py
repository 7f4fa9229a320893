"""Loads the index in a folder, says so, and searches it when told to: a process under which files are cut off."""

import sys
from pathlib import Path

from registerwatch.copy.search.filters import Filters
from registerwatch.copy.search.index import SearchIndex


def main() -> None:
    """Print `here`, wait for a line, print how many devices are found."""
    index = SearchIndex(Path(sys.argv[1]))
    index.refresh()
    print("here", flush=True)
    sys.stdin.readline()
    print(index.by_name("alpha", Filters(), limit=8, offset=0).total, flush=True)


if __name__ == "__main__":
    main()
