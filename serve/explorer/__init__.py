"""The explorer: a repository as pages in a browser of this machine, read-only.

It reads the public face of the library alone (`ibidem`), as its viewer: what the viewer may not see
is on no page. `pages/` turns what was read into HTML.
"""
