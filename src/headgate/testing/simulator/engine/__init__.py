"""What every simulation runs on: the stage, its processes, and its database."""
