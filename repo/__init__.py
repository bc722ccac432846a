"""State and time: transactions, history, refs and the local log. The composition root of the library."""
