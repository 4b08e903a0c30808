//! The cells of the grid: a path, the other flows on it, and what the client tells of arrivals.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;

/// Which of the two extensions about acknowledgements the client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Extensions {
    /// Both: few acknowledgements where the server asks for that, and times of arrival.
    Both,
    /// Few acknowledgements alone.
    AckFrequency,
    /// Times of arrival alone.
    ReceiveTimestamps,
    /// Neither, like most clients.
    None,
    /// What a client of somebody else's speaks.
    #[value(skip)]
    Foreign,
}

impl Extensions {
    /// The options that `fetch` needs for it.
    pub fn options(self) -> &'static [&'static str] {
        match self {
            Self::Both | Self::Foreign => &[],
            Self::AckFrequency => &["--no-receive-timestamps"],
            Self::ReceiveTimestamps => &["--no-ack-frequency"],
            Self::None => &["--no-ack-frequency", "--no-receive-timestamps"],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::AckFrequency => "ack-frequency",
            Self::ReceiveTimestamps => "receive-timestamps",
            Self::None => "none",
            Self::Foreign => "foreign",
        }
    }
}

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// As much as the path takes.
    Bulk,
    /// So many bytes at the beginning of each period, as from a live source.
    Frames {
        /// Of a frame.
        kilobytes: u32,
        /// From one frame to the next.
        period_ms: u32,
    },
}

impl Source {
    /// What `serve --frames` needs for it.
    pub fn frames(self) -> Option<String> {
        match self {
            Self::Bulk => None,
            Self::Frames {
                kilobytes,
                period_ms,
            } => Some(format!("{kilobytes} kB per {period_ms} ms")),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bulk => f.write_str("bulk"),
            Self::Frames {
                kilobytes,
                period_ms,
            } => write!(f, "{kilobytes}kB/{period_ms}ms"),
        }
    }
}

/// `bulk`, or frames as `60kB/33ms`.
impl FromStr for Source {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "bulk" {
            return Ok(Self::Bulk);
        }
        let frames = || {
            let (size, period) = text.split_once('/')?;
            let kilobytes = size.strip_suffix("kB")?.parse().ok()?;
            let period_ms = period.strip_suffix("ms")?.parse().ok()?;
            let is_sensible = (1..=1000).contains(&kilobytes) && (1..=10_000).contains(&period_ms);
            is_sensible.then_some(Self::Frames {
                kilobytes,
                period_ms,
            })
        };
        frames().ok_or("write `bulk`, or frames of 1 to 1000 kB per 1 to 10000 ms as `60kB/33ms`")
    }
}

/// One cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The link's rate in Mbit/s, of IP packets.
    pub rate_mbps: u32,
    /// The round trip without queueing, in milliseconds.
    pub rtt_ms: u32,
    /// The queue, in bandwidth-delay products.
    pub queue_bdp: f64,
    /// Packets come out of the path at multiples of so many microseconds only; 0 lets each come by
    /// itself.
    pub tick_us: u32,
    /// How many of the kernel's CUBIC flows are on the path as well.
    pub rivals: u16,
    /// What is sent.
    pub source: Source,
    /// What the client speaks.
    pub extensions: Extensions,
}

impl Cell {
    /// The link's rate in bit/s.
    pub fn rate_bps(&self) -> u64 {
        u64::from(self.rate_mbps) * 1_000_000
    }

    /// The delay of each direction, in microseconds.
    pub fn delay_us(&self) -> u64 {
        u64::from(self.rtt_ms) * 1000 / 2
    }

    /// The queue in bytes.
    pub fn queue_bytes(&self) -> u64 {
        let bdp = self.rate_bps() as f64 / 8.0 * f64::from(self.rtt_ms) / 1000.0;
        #[expect(clippy::cast_possible_truncation, reason = "no queue is that long")]
        #[expect(clippy::cast_sign_loss, reason = "a product of sizes")]
        let bytes = (bdp * self.queue_bdp).round() as u64;
        bytes
    }
}

/// The name in tables and files, without blanks.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rate_mbps,
            rtt_ms,
            queue_bdp,
            tick_us,
            rivals,
            source,
            extensions,
        } = self;
        write!(f, "{rate_mbps}mbit-{rtt_ms}ms-{queue_bdp}bdp-")?;
        if *tick_us > 0 {
            write!(f, "{tick_us}us-")?;
        }
        if *source != Source::Bulk {
            write!(f, "{}-", source.to_string().replace('/', "-"))?;
        }
        match rivals {
            0 => f.write_str("alone")?,
            rivals => write!(f, "beside{rivals}")?,
        }
        write!(f, "-{}", extensions.name())
    }
}

/// The axes of the grid, each as the command line has it.
#[derive(clap::Args)]
pub struct Axes {
    /// The link's rates in Mbit/s, of IP packets.
    #[arg(
        long = "rate",
        value_name = "MBPS",
        value_delimiter = ',', default_values_t = [5, 40, 200],
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    rates: Vec<u32>,

    /// The round trips without queueing, in ms.
    #[arg(
        long = "rtt",
        value_name = "MS",
        value_delimiter = ',', default_values_t = [10, 100],
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    rtts: Vec<u32>,

    /// The queues, in bandwidth-delay products.
    #[arg(
        long = "queue",
        value_name = "BDP",
        value_delimiter = ',', default_values_t = [0.5, 2.0],
        value_parser = queue
    )]
    queues: Vec<f64>,

    /// Let packets come out of the path at multiples of so many microseconds only, in batches, as
    /// to a host whose network card or timers bunch them; 0 lets each come by itself.
    #[arg(
        long = "tick",
        value_name = "MICROSECONDS",
        value_delimiter = ',', default_values_t = [0],
        value_parser = clap::value_parser!(u32).range(0..=100_000)
    )]
    ticks: Vec<u32>,

    /// The numbers of the kernel's CUBIC flows beside the transfer; 0 is alone.
    #[arg(
        long,
        value_name = "COUNT",
        value_delimiter = ',', default_values_t = [0, 1, 4],
        value_parser = clap::value_parser!(u16).range(0..=100)
    )]
    rivals: Vec<u16>,

    /// What is sent: `bulk`, or frames, as many kB each period as `60kB/33ms` says. Their goodput
    /// is that while a frame is under way.
    #[arg(
        long = "source",
        value_name = "SOURCE",
        value_delimiter = ',', default_values_t = [Source::Bulk]
    )]
    sources: Vec<Source>,

    /// What the client speaks. Unless this is given, everything alone, and both extensions beside
    /// rivals.
    #[arg(long, value_enum, value_name = "WHICH", value_delimiter = ',')]
    extensions: Vec<Extensions>,

    /// Fetch with another client than `fetch`: a line for the shell, of any commands, in which
    /// `{url}`, `{host}` and `{port}` say what to fetch. It is ended when its time is over. Its
    /// goodput is what the server has had acknowledged.
    #[arg(long, value_name = "LINE", conflicts_with_all = ["extensions", "sources"])]
    pub client: Option<String>,
}

impl Axes {
    /// A few cells that show most of what can go wrong, for this client.
    pub fn quick(client: Option<&str>) -> Self {
        Self {
            rates: vec![40],
            rtts: vec![10, 100],
            queues: vec![2.0],
            ticks: vec![0, 1000],
            rivals: vec![0, 1],
            sources: vec![Source::Bulk],
            extensions: Vec::new(),
            client: client.map(str::to_owned),
        }
    }

    /// All cells. Those without rivals come first, and among them the slowest rates.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = vec![Cell {
            rate_mbps: 0,
            rtt_ms: 0,
            queue_bdp: 0.0,
            tick_us: 0,
            rivals: 0,
            source: Source::Bulk,
            extensions: Extensions::Both,
        }];
        spread(&mut cells, &self.rivals, |cell| &mut cell.rivals);
        spread(&mut cells, &self.rates, |cell| &mut cell.rate_mbps);
        spread(&mut cells, &self.rtts, |cell| &mut cell.rtt_ms);
        spread(&mut cells, &self.queues, |cell| &mut cell.queue_bdp);
        spread(&mut cells, &self.ticks, |cell| &mut cell.tick_us);
        spread(&mut cells, &self.sources, |cell| &mut cell.source);
        let with_extensions = cells.into_iter().flat_map(|cell| {
            let all = self.extensions(cell.rivals).iter();
            all.map(move |&extensions| Cell { extensions, ..cell })
        });
        with_extensions.collect()
    }

    fn extensions(&self, rivals: u16) -> &[Extensions] {
        if self.client.is_some() {
            return &[Extensions::Foreign];
        }
        match (self.extensions.is_empty(), rivals) {
            (false, _) => &self.extensions,
            (true, 0) => Extensions::value_variants(),
            (true, _) => &[Extensions::Both],
        }
    }
}

/// A queue that a path can have, in bandwidth-delay products.
pub fn queue(text: &str) -> Result<f64, &'static str> {
    let bdp = text.trim().parse::<f64>().ok();
    bdp.filter(|bdp| (0.01..=1000.0).contains(bdp))
        .ok_or("write a number of bandwidth-delay products, 0.01 to 1000")
}

/// Gives each cell every value of an axis.
fn spread<T: Copy>(cells: &mut Vec<Cell>, values: &[T], place: fn(&mut Cell) -> &mut T) {
    let of_cell = |cell: &Cell| {
        let cell = *cell;
        values.iter().map(move |value| {
            let mut cell = cell;
            *place(&mut cell) = *value;
            cell
        })
    };
    *cells = cells.iter().flat_map(of_cell).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_and_delays_come_of_rate_and_round_trip() {
        let cell = Cell {
            rate_mbps: 40,
            rtt_ms: 30,
            queue_bdp: 0.5,
            tick_us: 1000,
            rivals: 1,
            source: "60kB/33ms".parse().unwrap(),
            extensions: Extensions::AckFrequency,
        };
        assert_eq!(cell.queue_bytes(), 75_000, "half of 150 000 bytes");
        assert_eq!(cell.delay_us(), 15_000);
        assert_eq!(
            cell.to_string(),
            "40mbit-30ms-0.5bdp-1000us-60kB-33ms-beside1-ack-frequency"
        );
        assert_eq!(cell.source.frames().unwrap(), "60 kB per 33 ms");
    }

    #[test]
    fn what_is_no_source_is_said_to_be_none() {
        assert_eq!("bulk".parse(), Ok(Source::Bulk));
        for text in ["", "60kB", "60/33", "0kB/33ms", "60kB/20000ms", "60kB/33us"] {
            let error = text.parse::<Source>().expect_err(text);
            assert!(error.contains("`60kB/33ms`"), "{text}");
        }
    }

    #[test]
    fn what_is_no_queue_is_refused() {
        assert_eq!(queue("0.5"), Ok(0.5));
        for text in ["nan", "inf", "-1", "0", "1e9", "long"] {
            assert!(queue(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rivals_are_met_with_both_extensions_unless_others_are_asked_for() {
        let mut axes = Axes::quick(None);
        let beside = |axes: &Axes| axes.cells().iter().filter(|cell| cell.rivals == 1).count();
        assert_eq!((axes.cells().len(), beside(&axes)), (20, 4));
        axes.extensions = vec![Extensions::Both, Extensions::None];
        assert_eq!((axes.cells().len(), beside(&axes)), (16, 8));
        axes.client = Some("curl {url}".to_owned());
        assert_eq!((axes.cells().len(), beside(&axes)), (8, 4), "as it is");
    }
}
