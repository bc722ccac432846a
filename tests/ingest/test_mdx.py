"""MDX: Markdown whose imports are layout, and whose components hold passages."""

from ibidem.ingest.document import read_document

PAGE = """\
---
title: The mill
---
import Tabs from '@theme/Tabs';
import TabItem from '@theme/TabItem';

# Mill

<Tabs groupId="os">
<TabItem value="npm" label="npm">

```bash
npm i mill
```

</TabItem>
<TabItem value="yarn" label="Yarn">

Use yarn.

</TabItem>
</Tabs>

<Picture title="wheel" />

import quotas are a story.
"""


def test_imports_and_tags_are_no_passages():
    *parts, document = read_document("a.mdx", PAGE).drafts
    assert document.summary == document.props["title"] == "The mill"
    assert [part.summary for part in parts if part.ntype == "Section"] == ["Mill"]
    assert [part.summary for part in parts if part.ntype == "Passage"] == [
        '<Tabs groupId="os">\n<TabItem value="npm" label="npm">\n\n```bash\nnpm i mill\n```',
        '</TabItem>\n<TabItem value="yarn" label="Yarn">\n\nUse yarn.',
        '<Picture title="wheel" />',
        "import quotas are a story.",
    ]
