"""Who has the work done: this process, or several."""
