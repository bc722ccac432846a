"""Export: the graph of a revision in formats that other programs read.

`records.py` yields the graph as records in one fixed order; a writer for each format writes them.
Nothing else goes into a file, no time and no name of a machine: the same root gives the same bytes.
"""

from ibidem.adapters.exporting.exporter import FORMATS as FORMATS
from ibidem.adapters.exporting.exporter import ExportReport as ExportReport
from ibidem.adapters.exporting.exporter import export as export
