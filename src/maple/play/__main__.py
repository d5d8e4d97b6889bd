"""Runs `python -m maple.play`."""

import sys

from .command_line import main

sys.exit(main())
