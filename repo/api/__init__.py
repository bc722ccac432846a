"""The namespaces of a repository, such as `repo.history`: small objects over its core."""
