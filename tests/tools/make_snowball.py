"""Writes the stemmers of index/analysis/snowball from an installed snowballstemmer 3.1.1.

They are copied once, with absolute imports, and then belong to the semantics: a newer release of
Snowball changes nothing.
The licence (BSD-3-Clause) is copied with them.

    python tests/tools/make_snowball.py index/analysis/snowball
"""

import shutil
import sys
from importlib.metadata import distribution
from pathlib import Path

LANGUAGES = (
    *("danish", "dutch", "finnish", "french", "german", "italian", "norwegian", "portuguese"),
    *("russian", "spanish", "swedish"),
)
VERSION = "3.1.1"
INIT = f'''"""Stemmers that the Snowball compiler {VERSION} generated; frozen, never edited.

Copied by `tests/tools/make_snowball.py` from snowballstemmer {VERSION}; `COPYING` is their licence
(BSD-3-Clause). A stemmer holds the word that it works on, so each word takes a new one.

Spec: analysis 6.
"""
'''


def absolute(text: str) -> str:
    """Returns a module with imports as they are written here."""
    return text.replace("\nfrom .", "\nfrom ibidem.index.analysis.snowball.")


def main(folder: Path) -> None:
    """Copies the modules and the licence."""
    source = distribution("snowballstemmer")
    if source.version != VERSION:
        raise SystemExit(f"snowballstemmer: got {source.version}, expected {VERSION}")
    folder.mkdir(exist_ok=True)
    (folder / "__init__.py").write_text(INIT, encoding="utf-8")
    for name in ("among", "basestemmer", *(f"{language}_stemmer" for language in LANGUAGES)):
        path = Path(str(source.locate_file(f"snowballstemmer/{name}.py")))
        text = path.read_text(encoding="utf-8")
        (folder / f"{name}.py").write_text(absolute(text), encoding="utf-8")
    (licence,) = (path for path in source.files or () if path.name == "COPYING")
    shutil.copyfile(str(licence.locate()), folder / "COPYING")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
