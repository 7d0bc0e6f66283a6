"""From a checkpoint's files to probabilities in the task's own label order, and from texts to its tokens."""
