"""Speed and memory, compared with what people use: ``python -m benchmarks``."""
