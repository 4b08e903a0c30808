#[path = "../tests/support/mod.rs"]
mod support;
use imtcp_cc::event::*;
use imtcp_cc::units::*;
use imtcp_cc::*;
use std::sync::Arc;
use std::time::Duration;
use support::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let cap: u64 = args[1].parse().unwrap();
    let cross: f64 = args[2].parse().unwrap();
    let ms: u64 = args[3].parse().unwrap();
    let app = &args[4];
    let qms: u64 = args[5].parse().unwrap();
    let meas = args.get(6).map(|s| s != "off").unwrap_or(true);
    for seed in 0..3 {
        let rec = Arc::new(Recorder::default());
        let cfg = Config::builder().measurement(meas).build().unwrap();
        let core = ImTcp::new(cfg, Bytes::new(1200), Some(rec.clone()));
        let path = Path {
            capacity: Bandwidth::from_mbps(cap),
            delay: Duration::from_millis(ms) / 2,
            queue: Duration::from_millis(qms),
            cross: Bandwidth::from_bps((cross * 1e6) as u64),
            loss: 0.0,
            ack_loss: 0.0,
            ack_every: args.get(7).map(|s| s.parse().unwrap()).unwrap_or(1),
        };
        let mut run = Run::new(core, path, seed + 1);
        let dur = 40.0;
        if app == "bulk" {
            run.write_at(Duration::ZERO, (cap as f64 * 1e6 / 8. * dur) as u64);
        } else {
            let r: f64 = app.parse().unwrap();
            let mut t = 0.;
            while t < dur {
                run.write_at(Duration::from_secs_f64(t), (r * 1e6 / 8. / 60.) as u64);
                t += 1. / 60.;
            }
        }
        run.until(Duration::from_secs_f64(dur));
        let ev = rec.take();
        let truth = cap as f64 - cross;
        let mut st = vec![];
        let mut cl = vec![];
        let mut held = vec![];
        let (mut a, mut b, mut c) = (0, 0, 0);
        let mut wins = 0.;
        for (t, e) in &ev {
            if t.as_secs_f64() < 2. {
                if seed == 0 {
                    if let Event::CapacityUpdated { capacity } = e {
                        println!("  {t} cap {capacity}");
                    }
                }
                continue;
            }
            match e {
                Event::EstimateUpdated {
                    estimator,
                    estimate,
                } => {
                    let v = estimate.available.as_bps_f64() / 1e6;
                    if *estimator == EstimatorKind::Statistical {
                        st.push((
                            (v - truth).abs() / truth,
                            (v - truth) / truth,
                            (estimate.low.as_bps_f64() / 1e6 <= truth
                                && truth <= estimate.high.as_bps_f64() / 1e6)
                                as u32 as f64,
                        ));
                        wins += estimate.window.as_secs_f64();
                    } else {
                        cl.push(((v - truth).abs() / truth, (v - truth) / truth));
                    }
                }
                Event::StreamStarted { waited, limit, .. } => {
                    held.push((waited.as_secs_f64() * 1e3, limit.as_secs_f64() * 1e3))
                }
                Event::MeasurementCompleted { .. } => a += 1,
                Event::MeasurementAbandoned { .. } => b += 1,
                Event::StreamAbandoned { .. } => c += 1,
                _ => {}
            }
        }
        let n = st.len().max(1) as f64;
        let m = cl.len().max(1) as f64;
        println!(
            "seed {seed} goodput {:.3} lost {:.4} cap {:?} | stat n {} mare {:.1}% bias {:.1}% in-nominal {:.2} win {:.2} | classic n {} mare {:.0}% bias {:.0}% | completed {a} abandoned {b} streams-abandoned {c} hold {:.2}",
            run.tally.delivered as f64 * 8. / dur / 1e6,
            run.tally.lost as f64 / run.tally.sent as f64,
            run.core.capacity().map(|c| c.to_string()),
            st.len(),
            100. * st.iter().map(|x| x.0).sum::<f64>() / n,
            100. * st.iter().map(|x| x.1).sum::<f64>() / n,
            st.iter().map(|x| x.2).sum::<f64>() / n,
            wins / n,
            cl.len(),
            100. * cl.iter().map(|x| x.0).sum::<f64>() / m,
            100. * cl.iter().map(|x| x.1).sum::<f64>() / m,
            held.iter().filter(|h| h.0 > h.1).count()
        );
    }
}
