"""`python -m pubmatch` is the same as `pubmatch`."""

import sys

from pubmatch.cli import main

if __name__ == "__main__":
    sys.exit(main())
