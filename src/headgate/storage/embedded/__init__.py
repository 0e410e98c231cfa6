"""The embedded PostgreSQL: the binaries of a wheel under a life cycle of our own.

`EmbeddedServer` is the whole public face. Beneath it: `layout` knows the paths, `programs` the binaries and
who runs them, `cluster` makes the database folder, `setup` makes the application's role and database in it,
`locks` says who is there.
"""

from headgate.storage.embedded.programs import MAJOR_VERSION
from headgate.storage.embedded.server import DATABASE, EmbeddedServer

__all__ = ["DATABASE", "MAJOR_VERSION", "EmbeddedServer"]
