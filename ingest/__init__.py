"""Documents and JSON lines to graph: `ibidem.ingest.ingest` has the one function that does it."""
