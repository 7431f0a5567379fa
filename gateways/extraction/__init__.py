"""From a conversation to statements: what an extractor is given, and how it reads."""
