"""Benchmarks of pubmatch: seeded workloads, peers behind one protocol, runners that interleave them."""
