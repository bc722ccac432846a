"""A store in a PostgreSQL database: two tables of one schema."""
