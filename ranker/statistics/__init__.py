"""How scores, and labels of a pool, rank models, and how sure that is: arrays in, arrays out."""
