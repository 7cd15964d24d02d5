"""Revenue of customers by the descriptors and text expressions of PyFlink 1.10: `connect`, `scan` and `insert_into`."""

import sys

from pyflink.dataset import ExecutionEnvironment
from pyflink.table import BatchTableEnvironment, DataTypes, TableConfig
from pyflink.table.descriptors import FileSystem, OldCsv, Schema

exec_env = ExecutionEnvironment.get_execution_environment()
exec_env.set_parallelism(1)
t_env = BatchTableEnvironment.create(exec_env, TableConfig())
columns = [
    ("id", DataTypes.INT()),
    ("customer", DataTypes.STRING()),
    ("product", DataTypes.STRING()),
    ("amount", DataTypes.DOUBLE()),
    ("ts", DataTypes.STRING()),
]
source, schema = OldCsv().field_delimiter(","), Schema()
for name, kind in columns:
    source, schema = source.field(name, kind), schema.field(name, kind)
t_env.connect(FileSystem().path(sys.argv[2] + "/orders")).with_format(source).with_schema(
    schema
).create_temporary_table("orders")
(
    t_env.connect(FileSystem().path(sys.argv[4]))
    .with_format(OldCsv().field_delimiter(",").field("customer", DataTypes.STRING()).field("n", DataTypes.BIGINT()))
    .with_schema(Schema().field("customer", DataTypes.STRING()).field("n", DataTypes.BIGINT()))
    .create_temporary_table("counts")
)
(
    t_env.scan("orders")
    .where("amount > 20 && product !== 'p1'")
    .group_by("customer")
    .select("customer, id.count as n")
    .insert_into("counts")
)
t_env.execute("counts")
