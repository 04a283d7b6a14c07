"""The command line, for ``python -m equilabel``."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
