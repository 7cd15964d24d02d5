"""Random tables with the columns of TPC-H, small, and with values that each query finds."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal

import pyarrow as pa

REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
NATIONS = {
    "ALGERIA": 0,
    "ARGENTINA": 1,
    "BRAZIL": 1,
    "CANADA": 1,
    "EGYPT": 4,
    "FRANCE": 3,
    "GERMANY": 3,
    "INDIA": 2,
    "JAPAN": 2,
    "KENYA": 0,
    "CHINA": 2,
    "SAUDI ARABIA": 4,
    "UNITED KINGDOM": 3,
    "UNITED STATES": 1,
}
SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
MODES = ("AIR", "AIR REG", "FOB", "MAIL", "RAIL", "SHIP", "TRUCK")
INSTRUCTIONS = ("COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN")
COLORS = ("almond", "forest", "green", "ivory", "lavender", "red")
CONTAINERS = ("SM CASE", "SM BOX", "MED BAG", "MED BOX", "LG CASE", "LG BOX", "JUMBO PACK")
TYPES = tuple(
    f"{size} {finish} {metal}"
    for size in ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")
    for finish in ("ANODIZED", "BRUSHED", "PLATED", "POLISHED")
    for metal in ("BRASS", "COPPER", "NICKEL", "STEEL", "TIN")
)
COMMENTS = (
    "quick deposits",
    "special requests",
    "Customer Complaints",
    "carefully special packages requests",
    "pending",
)
MONEY = pa.decimal128(15, 2)


def tables(orders: int, seed: int = 1) -> dict[str, pa.Table]:
    """Return the eight tables, sized after the number of orders."""
    chance = random.Random(seed)
    parts, suppliers, customers = max(orders // 8, 20), max(orders // 50, 10), max(orders // 10, 20)
    nations = range(len(NATIONS))

    def money(low: int, high: int) -> Decimal:
        return Decimal(chance.randint(low * 100, high * 100)) / 100

    def day(first: datetime.date, days: int) -> datetime.date:
        return first + datetime.timedelta(days=chance.randint(0, days))

    region = [(i, name) for i, name in enumerate(REGIONS)]
    nation = [(i, name, at) for i, (name, at) in enumerate(NATIONS.items())]
    supplier = [
        (
            i,
            f"Supplier#{i:09}",
            f"street {i}",
            chance.choice(nations),
            f"{10 + i % 25}-{i:03}",
            money(-999, 9999),
            chance.choice(COMMENTS),
        )
        for i in range(suppliers)
    ]
    part = [
        (
            i,
            " ".join(chance.sample(COLORS, 2)),
            f"Manufacturer#{chance.randint(1, 5)}",
            f"Brand#{chance.randint(1, 5)}{chance.randint(1, 5)}",
            chance.choice(TYPES),
            chance.randint(1, 50),
            chance.choice(CONTAINERS),
            money(900, 2000),
        )
        for i in range(parts)
    ]
    partsupp = [
        (p, s, chance.randint(1, 9999), money(1, 1000))
        for p in range(parts)
        for s in chance.sample(range(suppliers), min(4, suppliers))
    ]
    customer = [
        (
            i,
            f"Customer#{i:09}",
            f"road {i}",
            chance.choice(nations),
            f"{chance.choice((13, 31, 23, 29, 30, 18, 17, 11, 12))}-{i:03}",
            money(-999, 9999),
            chance.choice(SEGMENTS),
            chance.choice(COMMENTS),
        )
        for i in range(customers)
    ]
    order, line = [], []
    for i in range(orders):
        ordered = day(datetime.date(1992, 1, 1), 2400)
        order.append(
            (
                i,
                chance.randrange(customers * 2 // 3 + 1),
                chance.choice("FOP"),
                money(1000, 400000),
                ordered,
                chance.choice(PRIORITIES),
                chance.choice(COMMENTS),
            )
        )
        for number in range(chance.randint(1, 7)):
            offer = chance.choice(partsupp)
            shipped = day(ordered + datetime.timedelta(days=1), 120)
            line.append(
                (
                    i,
                    offer[0],
                    offer[1],
                    number + 1,
                    Decimal(chance.randint(1, 50)),
                    money(900, 90000),
                    Decimal(chance.randint(0, 10)) / 100,
                    Decimal(chance.randint(0, 8)) / 100,
                    chance.choice("ANR"),
                    chance.choice("FO"),
                    shipped,
                    day(ordered + datetime.timedelta(days=30), 60),
                    shipped + datetime.timedelta(days=chance.randint(1, 30)),
                    chance.choice(INSTRUCTIONS),
                    chance.choice(MODES),
                )
            )
    rows = {
        "region": region,
        "nation": nation,
        "supplier": supplier,
        "part": part,
        "partsupp": partsupp,
        "customer": customer,
        "orders": order,
        "lineitem": line,
    }
    return {
        name: pa.table(list(zip(*rows[name], strict=True)), schema=pa.schema(fields))
        for name, fields in SCHEMAS.items()
    }


_INT, _TEXT, _DAY = pa.int64(), pa.string(), pa.date32()
SCHEMAS = {
    "region": [("r_regionkey", _INT), ("r_name", _TEXT)],
    "nation": [("n_nationkey", _INT), ("n_name", _TEXT), ("n_regionkey", _INT)],
    "supplier": [
        ("s_suppkey", _INT),
        ("s_name", _TEXT),
        ("s_address", _TEXT),
        ("s_nationkey", _INT),
        ("s_phone", _TEXT),
        ("s_acctbal", MONEY),
        ("s_comment", _TEXT),
    ],
    "part": [
        ("p_partkey", _INT),
        ("p_name", _TEXT),
        ("p_mfgr", _TEXT),
        ("p_brand", _TEXT),
        ("p_type", _TEXT),
        ("p_size", pa.int32()),
        ("p_container", _TEXT),
        ("p_retailprice", MONEY),
    ],
    "partsupp": [("ps_partkey", _INT), ("ps_suppkey", _INT), ("ps_availqty", pa.int32()), ("ps_supplycost", MONEY)],
    "customer": [
        ("c_custkey", _INT),
        ("c_name", _TEXT),
        ("c_address", _TEXT),
        ("c_nationkey", _INT),
        ("c_phone", _TEXT),
        ("c_acctbal", MONEY),
        ("c_mktsegment", _TEXT),
        ("c_comment", _TEXT),
    ],
    "orders": [
        ("o_orderkey", _INT),
        ("o_custkey", _INT),
        ("o_orderstatus", _TEXT),
        ("o_totalprice", MONEY),
        ("o_orderdate", _DAY),
        ("o_orderpriority", _TEXT),
        ("o_comment", _TEXT),
    ],
    "lineitem": [
        ("l_orderkey", _INT),
        ("l_partkey", _INT),
        ("l_suppkey", _INT),
        ("l_linenumber", pa.int32()),
        ("l_quantity", MONEY),
        ("l_extendedprice", MONEY),
        ("l_discount", MONEY),
        ("l_tax", MONEY),
        ("l_returnflag", _TEXT),
        ("l_linestatus", _TEXT),
        ("l_shipdate", _DAY),
        ("l_commitdate", _DAY),
        ("l_receiptdate", _DAY),
        ("l_shipinstruct", _TEXT),
        ("l_shipmode", _TEXT),
    ],
}
