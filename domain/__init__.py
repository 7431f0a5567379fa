"""What may happen to a memory: ids, events, commands and aggregates, free of I/O."""
