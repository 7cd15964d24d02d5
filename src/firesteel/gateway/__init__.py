"""The SQL gateway: sessions that execute SQL, and Flink's REST API for them (Flink: `flink-sql-gateway`)."""
