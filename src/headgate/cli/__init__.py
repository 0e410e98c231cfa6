"""The command line: one module a group of commands, each loaded when it is asked for."""
