"""`python -m hellofresh` is the command `hellofresh`."""

import sys

from hellofresh.cli import main

sys.exit(main())
