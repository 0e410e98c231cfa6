"""A folder a platform. The core sees only `protocol`; `app` alone imports the concrete ones."""
