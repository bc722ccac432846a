"""Turns answers, differences and histories into HTML and SVG: pure functions of their arguments."""
