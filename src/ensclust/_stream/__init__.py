"""Streams: rows in blocks, passes over them, their counts and their labels."""
