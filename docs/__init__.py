"""The documentation and what generates it."""
