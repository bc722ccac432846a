"""Conversation: threads of messages, with selection and lossless summarisation."""
