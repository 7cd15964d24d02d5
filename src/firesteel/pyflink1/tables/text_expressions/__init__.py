"""Expressions as text, such as `"a, b.sum as c"`: the expression language of Flink's Table API up to 1.14."""
