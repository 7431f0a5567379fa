"""The views: what is answered from, made from the log and thrown away at will."""
