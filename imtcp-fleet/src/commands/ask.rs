//! `ask`, `sql` and `report`.

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use imtcp_fleet::answer::{self, Format};
use imtcp_fleet::engine::{Engine, Limits};
use imtcp_fleet::place::Place;
use imtcp_fleet::questions::{self, Question, READY};
use imtcp_fleet::{report, usage};
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

/// Who is asked.
#[derive(Debug, Args)]
pub struct Whom {
    /// The folder or address of the table.
    #[arg(long, short)]
    table: Option<String>,
    /// The scheduler of a cluster that answers, instead of this process.
    #[arg(long, value_name = "HOST:PORT")]
    cluster: Option<String>,
    /// Threads, or tasks of a cluster; the processors of this machine unless given.
    #[arg(long)]
    cores: Option<usize>,
    /// What operators may hold before they spill to disk, in MB.
    #[arg(long, value_name = "MB", default_value_t = 800)]
    memory: usize,
    /// Tell on standard error how long it took, and with how much memory.
    #[arg(long)]
    timing: bool,
}

/// How a question is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Dialect {
    /// With the functions of sketches.
    Functions,
    /// In SQL that needs no functions of ours.
    Plain,
    /// The same, behind the view that DuckDB needs.
    Duckdb,
}

#[derive(Debug, Args)]
pub struct Arguments {
    /// The question; without one, all are listed.
    question: Option<String>,
    #[command(flatten)]
    whom: Whom,
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Print the question as SQL, and do not ask it.
    #[arg(long, value_enum, value_name = "DIALECT")]
    print: Option<Dialect>,
    /// Ask in SQL without the functions of sketches, which is slower and tells the same.
    #[arg(long)]
    plain: bool,
}

#[derive(Debug, Args)]
pub struct SqlArguments {
    /// The query. Beside SQL's own there are the functions sketch_merge(column),
    /// sketch_quantile(sketch, q) and sketch_count(sketch).
    query: String,
    #[command(flatten)]
    whom: Whom,
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Debug, Args)]
pub struct ReportArguments {
    #[command(flatten)]
    whom: Whom,
    /// The page.
    #[arg(long, short, value_name = "FILE", default_value = "fleet.html")]
    output: PathBuf,
    /// Its title.
    #[arg(long, default_value = "A fleet's connections")]
    title: String,
}

impl Whom {
    /// The table; only the list of questions needs none.
    fn table(&self) -> Result<Place> {
        let table = self.table.as_deref();
        Place::existing(table.context("which table? Give its folder or address with --table")?)
    }

    async fn engine(&self) -> Result<Engine> {
        let table = self.table()?;
        let cores = self.cores.unwrap_or_else(super::cores);
        if let Some(scheduler) = &self.cluster {
            return imtcp_fleet::cluster::engine(&table, scheduler, cores).await;
        }
        let memory = self.memory.saturating_mul(1_000_000);
        Engine::embedded(&table, Limits { cores, memory }).await
    }

    #[expect(clippy::disallowed_methods, reason = "a program tells how long it took")]
    async fn ask(&self, sql: &str, format: Format) -> Result<()> {
        let engine = self.engine().await?;
        let began = Instant::now();
        let answer = engine.ask(sql).await?;
        if self.timing {
            let seconds = began.elapsed().as_secs_f64();
            let busy = usage::processor_seconds().unwrap_or(f64::NAN);
            let memory = usage::peak_memory().map_or(f64::NAN, |bytes| bytes as f64 / 1e6);
            eprintln!(
                "answered in {seconds:.3} s, {busy:.2} s of processors, {memory:.0} MB at most"
            );
        }
        let mut text = Vec::new();
        answer::write(&answer, format, &mut text)?;
        super::print(&text)
    }
}

pub async fn run(arguments: Arguments) -> Result<()> {
    let Some(name) = &arguments.question else {
        let line = |question: &Question| format!("{:12} {}\n", question.name, question.title);
        let lines: String = READY.iter().map(line).collect();
        return super::print(lines.as_bytes());
    };
    let question = named(name)?;
    if let Some(dialect) = arguments.print {
        let text = match dialect {
            Dialect::Functions => format!("{};\n", question.with_functions()),
            Dialect::Plain => format!("{};\n", question.plain()),
            Dialect::Duckdb => {
                let view = questions::duckdb_view(&arguments.whom.table()?.shown());
                format!("{view}\n{};\n", question.plain())
            }
        };
        return super::print(text.as_bytes());
    }
    let sql = match arguments.plain {
        true => question.plain(),
        false => question.with_functions(),
    };
    arguments.whom.ask(&sql, arguments.format).await
}

fn named(name: &str) -> Result<&'static Question> {
    let Some(question) = questions::named(name) else {
        let names: Vec<&str> = READY.iter().map(|question| question.name).collect();
        bail!(
            "there is no question `{name}`; there are {}",
            names.join(", ")
        );
    };
    Ok(question)
}

pub async fn sql(arguments: SqlArguments) -> Result<()> {
    arguments.whom.ask(&arguments.query, arguments.format).await
}

pub async fn report(arguments: ReportArguments) -> Result<()> {
    let engine = arguments.whom.engine().await?;
    let page = report::page(&engine, &arguments.title).await?;
    let output = arguments.output.display();
    fs::write(&arguments.output, page).with_context(|| format!("writing {output}"))?;
    eprintln!("wrote {output}");
    Ok(())
}
