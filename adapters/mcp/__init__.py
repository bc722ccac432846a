"""A repository as a server of the Model Context Protocol: what an agent may ask of it, and add.

`server.py` and `http.py` speak the protocol with the SDK `mcp` (`pip install 'ibidem[mcp]'`);
everything else here is plain and knows nothing of it. `tools.py` has the tools, `resources.py` what
can be read by its address, `prompts.py` the prompts, `clients.py` the files in which programs such
as editors name their servers.

Two rules hold for every answer. The text that a model reads is in the content, within the budget
that the model gave; ids, scores, the root and the receipt are in the structured part, which has no
text of the repository. And what comes out of the repository stands between lines of a fence that
occurs nowhere in it, labelled with its source and its trust (`page.py`), so that an instruction
that somebody stored is data.
"""
