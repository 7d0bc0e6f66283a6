"""Work of models: jobs, executors and the store of their answers."""
