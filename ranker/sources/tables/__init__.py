"""Tables of predictions, made anywhere: a file -> columns -> what each model answers -> answers to rows."""
