"""``python -m crank.cli``."""

import sys

from crank.cli import main

sys.exit(main())
