"""Answers of typed records: what is asked is ranked by four lanes, and its relations are walked."""
