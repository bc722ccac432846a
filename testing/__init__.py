"""Testing retrieval like code: a pytest plugin, golden answers and quality gates."""
