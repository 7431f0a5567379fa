"""The use cases, free of transports: what each verb does with the log, the aggregates and the views."""
