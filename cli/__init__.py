"""The command line: the only room that knows terminals, arguments and the environment."""
