"""Receipts: the receipt log, kept receipts, and replay."""
