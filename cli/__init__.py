"""The command line: the only room that knows of a terminal, arguments and the environment."""
