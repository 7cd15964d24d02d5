"""Registration at leaders."""
