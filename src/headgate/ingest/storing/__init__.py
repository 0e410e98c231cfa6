"""Looking after stored content."""
