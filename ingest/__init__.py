"""Imports documents and JSON lines into the graph; `ibidem.ingest.ingest` is the entry point."""
