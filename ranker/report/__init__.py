"""Reports: one render(Ranking) per format."""
