"""Change data capture from MySQL and MariaDB: the table connector `mysql-cdc`."""

TABLES = {"mysql-cdc": "table"}
