"""The owner of slots: it runs the tasks that JobMasters deploy into them."""
