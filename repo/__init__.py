"""State and time: transactions, history, refs, the local log. Here the library is put together."""
