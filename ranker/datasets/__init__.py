"""From a set's card and a file of rows to examples with their words marked."""
