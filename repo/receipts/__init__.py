"""Receipts: the log of them, those that are kept, and their replay."""
