"""`python -m maple.train`; see --help."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    from .command_line import main

    sys.exit(main())
