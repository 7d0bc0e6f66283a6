"""The commands of `rank-models`, a file each: they parse, call and print; what several share stands in `options`."""
