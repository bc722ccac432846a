"""LangGraph over a repository: a checkpointer, and a store for what lasts longer than a thread.

Ids of checkpoints are those that LangGraph passes; nothing here depends on a clock or on chance.
"""

from ibidem.adapters.langgraph.saver import IbidemSaver
from ibidem.adapters.langgraph.store import IbidemStore

__all__ = ["IbidemSaver", "IbidemStore"]
