"""Speed and memory, side by side with what people use: ``python -m benchmarks``."""
