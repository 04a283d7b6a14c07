"""The command line, for ``python -m equilabel``."""

import sys

from equilabel.cli import main

if __name__ == "__main__":
    sys.exit(main())
