"""A place -> columns: the one reader of files of rows, tables, values and exports. Nothing of a file is believed."""
