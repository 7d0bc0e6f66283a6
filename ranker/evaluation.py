"""From a score table whose truth is known to a `Ranking`: how well each method would have ranked these models."""
