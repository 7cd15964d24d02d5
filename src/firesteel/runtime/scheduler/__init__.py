"""Scheduling: when and where tasks are deployed, and reactions to failures. Pure: nothing here awaits."""
