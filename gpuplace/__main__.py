"""``python -m gpuplace``: the command line.

See ``gpuplace.cli``.
"""

import sys

from gpuplace.cli import main

if __name__ == "__main__":
    sys.exit(main())
