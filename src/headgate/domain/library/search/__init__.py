"""Search: what documents are made of, and which words match."""
