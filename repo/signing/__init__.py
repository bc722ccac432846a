"""Signatures of commits and erasures: keys, which of them this copy trusts, and what must be
signed.
"""
