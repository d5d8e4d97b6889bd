"""Runs `python -m bridge.serve`."""

import sys

from .command_line import main

sys.exit(main())
