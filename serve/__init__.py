"""Serves a repository over HTTP, by default only on this machine."""
