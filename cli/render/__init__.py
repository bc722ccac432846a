"""What several commands print: canonical JSON for programs, lines for people."""
