"""Errors about a table's options show them without secrets."""

from __future__ import annotations

import pytest

from firesteel.table.errors import ValidationException

SECRETS = ("password", "token", "s3.secret-access-key", "properties.sasl.jaas.config", "my.API-Key")


@pytest.mark.parametrize("connector", ["jdbc", "iceberg", "kafka", "filesystem", "print", "nope"])
def test_secrets_are_masked_in_the_options_of_a_table(t_env, connector):
    options = "".join(f", '{key}' = 'hush'" for key in SECRETS)
    t_env.execute_sql(f"CREATE TABLE t (a INT) WITH ('connector' = '{connector}', 'note' = 'it''s'{options})")
    with pytest.raises(ValidationException) as caught:
        t_env.execute_sql("SELECT * FROM t")
    text = str(caught.value)
    assert text.startswith("Unable to create a source for reading table")
    assert "hush" not in text
    assert all(f"\n'{key}'='******'" in text for key in SECRETS)
    assert f"\n'connector'='{connector}'\n" in text
    assert "'note'='it''s'" in text
