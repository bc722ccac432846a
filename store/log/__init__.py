"""A store in object storage: a log of entries that only grows. Each entry is created once."""
