"""`python -m headgate.ingest.sandbox module…`: a subprocess of the pool, with modules that it loads beforehand."""

from __future__ import annotations

import sys

from headgate.ingest.sandbox.worker import main

if __name__ == "__main__":
    main(sys.argv[1:])
