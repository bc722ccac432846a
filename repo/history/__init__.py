"""History: the log, differences, blame, bisection, drawing, and bounding how far it goes back."""
