"""Output shared by several commands: canonical JSON for programs, lines for people."""
