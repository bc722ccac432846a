"""Keeps pytest from importing the root folders a second time, under names that are not ours."""

collect_ignore = ["cli", "index", "ingest", "objects", "repo", "retrieve", "store", "bench", "examples"]
