"""Entry point of `rtsim`, kept small so that a Ctrl-C in the first moments ends without a traceback."""

from __future__ import annotations

import sys


def main() -> None:
    """Load the command line and run it; during the imports, which take a tenth of a second, Ctrl-C ends
    without a traceback.
    """
    try:
        import rtsim.cli.main
    except KeyboardInterrupt:
        print("rtsim: interrupted", file=sys.stderr)
        sys.exit(130)
    rtsim.cli.main.main()


if __name__ == "__main__":
    main()
