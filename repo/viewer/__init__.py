"""What a restricted viewer may do with a repository: one table, and the proxies that enforce it."""
