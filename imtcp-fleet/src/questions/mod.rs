//! Ready questions. A question is defined once, and written as SQL in two ways: with the functions
//! of sketches, for DataFusion and Ballista, and in plain SQL, which `DuckDB` (and DataFusion) run
//! as well. Both ways give the same rows.

mod ready;

pub use ready::READY;

use crate::sketch::GAMMA;
use std::fmt::Write;

/// The name of the table in SQL.
pub const TABLE: &str = "connections";

/// A question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// How it is asked for.
    pub name: &'static str,
    /// What it asks, in a line.
    pub title: &'static str,
    /// What the rows of the answer are about: names and expressions. The answer is in their order.
    pub keys: &'static [(&'static str, &'static str)],
    /// Which connections count.
    pub filter: &'static str,
    /// Sums over connections: names and expressions.
    pub sums: &'static [(&'static str, &'static str)],
    /// Columns with sketches, and quantiles of them with their names.
    pub quantiles: &'static [(&'static str, &'static [(&'static str, f64)])],
    /// The columns of the answer, behind the keys: names and expressions of sums and quantiles.
    pub columns: &'static [(&'static str, &'static str)],
}

/// The ready question of a name.
pub fn named(name: &str) -> Option<&'static Question> {
    READY.iter().find(|question| question.name == name)
}

fn list<T>(items: &[T], shown: impl Fn(&T) -> String) -> String {
    let items: Vec<String> = items.iter().map(shown).collect();
    items.join(", ")
}

impl Question {
    /// SQL with the functions of sketches.
    pub fn with_functions(&self) -> String {
        let merged = list(self.quantiles, |(column, _)| {
            format!("sketch_merge({column}) AS {column}")
        });
        let told = self.quantiles.iter().flat_map(|(column, quantiles)| {
            let quantile = move |(name, q): &(&str, f64)| {
                format!("sketch_quantile({column}, {q:?}) AS {name}")
            };
            quantiles.iter().map(quantile)
        });
        let mut told: Vec<String> = told.collect();
        told.splice(0..0, self.sums.iter().map(|(name, _)| (*name).to_owned()));
        format!(
            "WITH merged AS (\n  SELECT {keys}, {sums}, {merged}\n  FROM {TABLE}\n  \
             WHERE {filter}\n  GROUP BY {key_expressions}\n), told AS (\n  \
             SELECT {names}, {told}\n  FROM merged\n)\n{end}",
            keys = self.keys(),
            sums = list(self.sums, named_expression),
            filter = self.filter,
            key_expressions = list(self.keys, |(_, expression)| (*expression).to_owned()),
            names = self.names(),
            told = told.join(", "),
            end = self.end(),
        )
    }

    /// SQL that needs no functions but those that all engines have.
    pub fn plain(&self) -> String {
        let (keys, names, filter) = (self.keys(), self.names(), self.filter);
        let by = list(self.keys, |(_, expression)| (*expression).to_owned());
        // Writing into a string does not fail.
        let mut text = format!(
            "WITH sums AS (\n  SELECT {keys}, {sums}\n  FROM {TABLE}\n  WHERE {filter}\n  \
             GROUP BY {by}\n)",
            sums = list(self.sums, named_expression),
        );
        for (column, quantiles) in self.quantiles {
            let _ = write!(text, ", {}", self.told(column, quantiles));
        }
        let joins = self
            .quantiles
            .iter()
            .map(|(column, _)| format!("\n  LEFT JOIN {column}_told USING ({names})"));
        let joins: String = joins.collect();
        let _ = write!(
            text,
            ", told AS (\n  SELECT *\n  FROM sums{joins}\n)\n{}",
            self.end()
        );
        text
    }

    /// Quantiles of a column in plain SQL: its texts are taken apart into runs, and these into
    /// counts.
    fn told(&self, column: &str, quantiles: &[(&str, f64)]) -> String {
        let (keys, names, filter) = (self.keys(), self.names(), self.filter);
        let told = list(quantiles, |(name, q)| {
            format!(
                "2e0 * power({GAMMA:?}e0, min(CASE WHEN reached > \
                 floor({q:?}e0 * CAST(total - 1 AS DOUBLE)) THEN bucket END)) \
                 / {sum:?}e0 AS {name}",
                sum = GAMMA + 1.0
            )
        });
        format!(
            "{column}_runs AS (\n  SELECT {keys}, unnest(string_to_array({column}, ' ')) AS run\n  \
             FROM {TABLE}\n  WHERE {filter} AND {column} IS NOT NULL\n), \
             {column}_parts AS (\n  SELECT {names}, {first} AS first, {step} AS step,\n    \
             {width} AS width, split_part(run, ':', 4) AS digits\n  FROM {column}_runs\n), \
             {column}_places AS (\n  SELECT {names}, first, step, width, digits,\n    \
             unnest(range(0, CAST(length(digits) * 1e0 / width AS BIGINT))) AS place\n  \
             FROM {column}_parts\n), \
             {column}_counts AS (\n  SELECT {names}, first + step * place AS bucket,\n    \
             CAST(sum(CAST(substr(digits, 1 + width * place, width) AS BIGINT)) AS BIGINT) AS n\n  \
             FROM {column}_places\n  GROUP BY {names}, first + step * place\n), \
             {column}_reached AS (\n  SELECT {names}, bucket,\n    \
             sum(n) OVER (PARTITION BY {names} ORDER BY bucket) AS reached,\n    \
             sum(n) OVER (PARTITION BY {names}) AS total\n  FROM {column}_counts\n), \
             {column}_told AS (\n  SELECT {names}, {told}\n  FROM {column}_reached\n  \
             GROUP BY {names}\n)",
            first = part(1),
            step = part(2),
            width = part(3),
        )
    }

    fn keys(&self) -> String {
        list(self.keys, named_expression)
    }

    fn names(&self) -> String {
        list(self.keys, |(name, _)| (*name).to_owned())
    }

    fn end(&self) -> String {
        let (names, columns) = (self.names(), list(self.columns, named_expression));
        format!("SELECT {names}, {columns}\nFROM told\nORDER BY {names}")
    }
}

/// A number at the beginning of a run.
fn part(at: u32) -> String {
    format!("CAST(split_part(run, ':', {at}) AS BIGINT)")
}

fn named_expression((name, expression): &(&str, &str)) -> String {
    match name == expression {
        true => (*name).to_owned(),
        false => format!("{expression} AS {name}"),
    }
}

/// What `DuckDB` needs before the plain SQL: the table, as a view of the files. `table` is a path
/// or an address, and ends in a slash.
pub fn duckdb_view(table: &str) -> String {
    let folder = table.replace('\'', "''");
    format!(
        "CREATE OR REPLACE VIEW {TABLE} AS SELECT * FROM read_parquet('{folder}*/*/*.parquet', \
         hive_partitioning = true, hive_types = {{'date': DATE, 'hour': INTEGER}});"
    )
}
