"""`python -m maple.evaluate`: says how strong agents are. Everything is in `maple.evaluation`."""

from __future__ import annotations

import sys

from .evaluation.command_line import main

if __name__ == "__main__":
    sys.exit(main())
