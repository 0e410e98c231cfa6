"""The tables of the engine, leases, recurring work and the clocks."""
