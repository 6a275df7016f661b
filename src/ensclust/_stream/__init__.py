"""Streams: rows in blocks, passes over them, what they add up to, their labels."""
