"""Tables of predictions, made anywhere: a file -> columns -> answers of each model -> answers to requested rows."""
