"""Execution of statements: DDL, ALTER, SHOW, models and inserts."""
