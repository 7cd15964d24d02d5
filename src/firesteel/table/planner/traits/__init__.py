"""What the nodes of a plan promise: which kinds of rows they take and emit, and by which key a row is replaced."""
