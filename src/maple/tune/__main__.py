"""Runs `python -m maple.tune`."""

import sys

if __name__ == "__main__":
    from .command_line import main

    sys.exit(main())
