"""Models behind a server that speaks the protocol of OpenAI's API, asked by prompts."""
