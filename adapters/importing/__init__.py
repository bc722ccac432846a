"""Import: the data of other programs, and our own JSON lines, into a repository.

A reader for each format yields records: nodes, edges, vectors, messages. One importer stages them,
so all formats share commits, limits, counts and errors (`importer.py`).
"""

from ibidem.adapters.importing.formats import FORMATS as FORMATS
from ibidem.adapters.importing.importer import load as load
from ibidem.adapters.importing.report import ImportReport as ImportReport
from ibidem.adapters.importing.source import ImportLimits as ImportLimits
