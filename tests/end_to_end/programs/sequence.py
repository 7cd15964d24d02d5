"""Numbers of a source and a datagen table, collected by the client."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

numbers = env.from_source(NumberSequenceSource(1, 100), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
squares = numbers.filter(lambda n: n % 7 == 0).map(lambda n: n * n, Types.LONG())
with squares.execute_and_collect("squares") as results:
    for square in results:
        print("square", square)

t_env.execute_sql("""
    CREATE TABLE ids (id BIGINT, name STRING) WITH (
        'connector' = 'datagen', 'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '20',
        'fields.name.length' = '5')
""")
with t_env.execute_sql("SELECT id, CHAR_LENGTH(name) FROM ids WHERE MOD(id, 2) = 0").collect() as rows:
    for row in rows:
        print("row", row[0], row[1])
