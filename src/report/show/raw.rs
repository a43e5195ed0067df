//! All measurements as comma-separated values, for other programs.

use std::io::Write;

use crate::{
    failure::{Exit, OrFail, Result},
    model::{Benchmark, Stage},
    report::csv::quoted,
    store::Row,
};

const HEAD: &str = "experiment,package,target,benchmark,stage,round,seed,measurement,metric,unit,\
                    value,iterations";

/// Measurements on their way out: a head, then one line for each.
pub struct RawMeasurements<'w> {
    out: &'w mut dyn Write,
}

impl<'w> RawMeasurements<'w> {
    /// Writes the head.
    pub fn begin(out: &'w mut dyn Write) -> Result<Self> {
        let mut raw = Self { out };
        raw.line(HEAD)?;
        Ok(raw)
    }

    /// Writes the measurements of a benchmark in an experiment. Values are those of one iteration;
    /// iterations are empty where the harness does not tell them.
    pub fn write(&mut self, experiment: &str, benchmark: &Benchmark, rows: &[Row]) -> Result<()> {
        let Benchmark { package, target, name } = benchmark;
        let [package, target, id] = [package, target, &name.id].map(|text| quoted(text));
        for Row { slot, outcome, .. } in rows {
            let Ok(execution) = outcome else { continue };
            let stage = match slot.stage {
                Stage::First => 1,
                Stage::Second => 2,
            };
            for series in &execution.series {
                let metric = quoted(&series.metric.name);
                for (index, value) in series.values.iter().enumerate() {
                    let iterations = series.iterations.get(index);
                    let iterations = iterations.map_or(String::new(), u64::to_string);
                    self.line(&format!(
                        "{experiment},{package},{target},{id},{stage},{},{},{},{metric},{},{value},\
                         {iterations}",
                        slot.round,
                        slot.seed.get(),
                        index + 1,
                        series.metric.unit,
                    ))?;
                }
            }
        }
        Ok(())
    }

    /// Writes what is left.
    pub fn end(self) -> Result<()> {
        self.out.flush().or_fail(Exit::Usage, || "cannot write the measurements")
    }

    fn line(&mut self, text: &str) -> Result<()> {
        writeln!(self.out, "{text}").or_fail(Exit::Usage, || "cannot write the measurements")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_commas_and_quotes_stay_one_field() {
        assert_eq!(quoted("parse/1"), "parse/1");
        assert_eq!(quoted("f(\"a\", 1)"), "\"f(\"\"a\"\", 1)\"");
    }
}
