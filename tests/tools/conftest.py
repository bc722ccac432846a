"""Tools made the tables and vectors with packages that no test needs: pytest collects none."""

collect_ignore_glob = ["*.py"]
