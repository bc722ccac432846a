"""The definitions of which questions are made."""

import importlib.util
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "bench"
PAGE = """
<dl><dt>-f</dt><dt><a id="x"></a><code>--force</code> &lt;how&gt;</dt>
<dd><p>Allow what is refused without it, such as losing work.</p><p>More.</p></dd>
<dt>push.default</dt><dd>Says what is pushed if nobody says it there.</dd>
<dt>--short</dt><dd>Too short.</dd>
<dt>a term</dt><dd>Neither an option nor a name in parts here.</dd></dl>
"""


def test_options_and_settings_are_read_from_lists_of_definitions(monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location("bench_options", FOLDER / "options.py")
    assert spec is not None
    assert spec.loader is not None
    options = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "bench_options", options)
    spec.loader.exec_module(options)
    found = [(one.names, one.beginning) for one in options.entries(PAGE, "git push")]
    assert found == [
        (
            {"long": "--force", "short": "-f", "command": "git push"},
            " allow what is refused without it such as ",
        ),
        (
            {"command": "git push", "setting": "push.default"},
            " says what is pushed if nobody says it ",
        ),
    ]
