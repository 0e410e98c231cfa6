"""For development: benchmarks, the simulator, and the plans of the demo."""
