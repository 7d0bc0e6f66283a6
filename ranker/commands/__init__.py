"""Commands of `rank-models`, one file each: they parse, call and print. `options` has the shared options."""
