"""Answers of typed records: four lanes rank the records, and their relations are walked."""
