"""Asking a revision: defaults resolved, models and feedback looked up, the answer receipted."""
