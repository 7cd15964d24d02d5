"""The methods of expressions, by area."""
