"""State and time: transactions, history, refs, the local log. The library's rooms are combined
here.
"""
