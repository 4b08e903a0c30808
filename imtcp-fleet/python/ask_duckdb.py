"""Has DuckDB run the SQL on standard input; the answer of the last statement comes out as CSV."""

import csv
import sys

import duckdb

connection = duckdb.connect(config={"threads": 2, "memory_limit": "4GB"})
answer = connection.execute(sys.stdin.read())
writer = csv.writer(sys.stdout, lineterminator="\n")
writer.writerow([column[0] for column in answer.description])
while rows := answer.fetchmany(10_000):
    writer.writerows(["" if value is None else value for value in row] for row in rows)
