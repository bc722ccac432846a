"""The programs that people already use, connected to a repository.

Each module speaks the interface of one of them and adds no meaning of its own, so it needs nothing
but the public face: `ibidem`, `ibidem.aio` and `ibidem.errors`. What it connects to is an extra
(`pip install 'ibidem[mcp]'`) and imported by that module alone.
"""
