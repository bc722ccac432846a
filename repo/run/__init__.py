"""Doing again: kept receipts and their replay, recorded runs and theirs."""
