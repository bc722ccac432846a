"""Conversation: threads of messages that are kept, chosen from, and made shorter without loss."""
