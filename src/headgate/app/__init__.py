"""The wiring: which parts a process has, and how it starts and stops."""
