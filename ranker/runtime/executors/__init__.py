"""Executors of jobs: in this process, or in several."""
