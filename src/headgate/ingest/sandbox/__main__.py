"""`python -m headgate.ingest.sandbox module…`: a subprocess of the pool, and the modules that it loads."""

from __future__ import annotations

import sys

from headgate.ingest.sandbox.worker import main

if __name__ == "__main__":
    main(sys.argv[1:])
