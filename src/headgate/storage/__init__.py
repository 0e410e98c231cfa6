"""PostgreSQL: connections, migrations, and pairs of `.sql` and typed Python modules."""
