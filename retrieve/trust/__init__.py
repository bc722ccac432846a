"""Trust: which nodes of a root a caller may know of, decided before anything is looked at."""
