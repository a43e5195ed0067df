//! From bytes to executions; bytes may be anything.

use std::time::{Duration, SystemTime};

use super::{CHECKSUM, Damage, Entry, FORMAT, checksum, column::Reader, measurement};
use crate::model::{
    Execution, ExecutionRequest, LayoutSeed, Metric, Resources, Series, Throughput, Unit,
};

/// The executions of a block.
pub(in crate::store) fn decode(bytes: &[u8]) -> Result<Vec<Entry>, Damage> {
    let mut reader = Reader::new(content(bytes)?);
    let head = Head::read(&mut reader)?;
    let mut series = Measured::read(&mut reader, &head)?.series(&head);
    let mut asked = read_asked(&mut reader, head.count)?;
    let mut throughput = read_throughput(&mut reader, head.count)?;
    let mut resources = read_resources(&mut reader, head.count)?;
    let entry = |((seed, round), series): ((_, _), Vec<Series>)| {
        let (asked, warm_up) = asked.next()?;
        let throughput = throughput.next()?;
        let resources = resources.next()?;
        let execution = Execution { asked, series, throughput, warm_up, resources };
        Some(Entry { round, seed, execution })
    };
    head.seeds
        .iter()
        .copied()
        .zip(head.rounds.iter().copied())
        .zip(series.drain(..))
        .map(entry)
        .collect::<Option<_>>()
        .ok_or(Damage("a column is too short"))
}

/// The first metric of the first execution: the one that its harness is for.
pub(in crate::store) fn first_metric(bytes: &[u8]) -> Result<Option<Metric>, Damage> {
    let head = Head::read(&mut Reader::new(content(bytes)?))?;
    // Metrics stand in the order in which they were met.
    Ok(head.metrics.into_iter().next())
}

/// Seed, round and the values of one metric, for each execution that has it.
pub(in crate::store) fn values(
    bytes: &[u8],
    metric: &Metric,
) -> Result<Vec<(LayoutSeed, u32, Vec<f64>)>, Damage> {
    let mut reader = Reader::new(content(bytes)?);
    let head = Head::read(&mut reader)?;
    let measured = Measured::read(&mut reader, &head)?;
    let Some(wanted) = head.metrics.iter().position(|one| one == metric) else {
        return Ok(Vec::new());
    };
    let mut rest = &measured.columns[wanted].1[..];
    let mut shapes = measured.shapes.iter();
    let mut found = Vec::with_capacity(head.count);
    for ((seed, round), count) in head.seeds.iter().zip(&head.rounds).zip(&measured.counts) {
        // An execution has a metric once; a second series of it is passed over.
        let mut first = None;
        for [metric, length, _] in shapes.by_ref().take(*count) {
            if *metric == wanted {
                let (values, later) = rest.split_at(*length);
                rest = later;
                first.get_or_insert(values);
            }
        }
        found.extend(first.map(|values| (*seed, *round, values.to_vec())));
    }
    Ok(found)
}

/// What stands between the format number and the checksum.
fn content(bytes: &[u8]) -> Result<&[u8], Damage> {
    let (body, sum) = bytes.split_last_chunk::<CHECKSUM>().ok_or(Damage("it is cut off"))?;
    if checksum(body) != *sum {
        return Err(Damage("its checksum is wrong"));
    }
    match body.split_first() {
        Some((&FORMAT, content)) => Ok(content),
        _ => Err(Damage("its format is unknown")),
    }
}

/// What every reader needs: the metrics, and which executions these are.
struct Head {
    count: usize,
    metrics: Vec<Metric>,
    seeds: Vec<LayoutSeed>,
    rounds: Vec<u32>,
}

impl Head {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let count = reader.count()?;
        let metrics = (0..reader.count()?)
            .map(|_| {
                let name = text(reader)?;
                let unit =
                    Unit::from_symbol(&text(reader)?).ok_or(Damage("its unit is unknown"))?;
                Ok(Metric { name, unit })
            })
            .collect::<Result<_, _>>()?;
        let seed = |number: u64| {
            let seed = u32::try_from(number).ok().and_then(LayoutSeed::new);
            seed.ok_or(Damage("a number is no layout seed"))
        };
        let seeds = reader.column(count)?.into_iter().map(seed).collect::<Result<_, _>>()?;
        let round = |number| u32::try_from(number).map_err(|_| Damage("a number is no round"));
        let rounds = reader.column(count)?.into_iter().map(round).collect::<Result<_, _>>()?;
        Ok(Self { count, metrics, seeds, rounds })
    }
}

fn text(reader: &mut Reader<'_>) -> Result<String, Damage> {
    let length = reader.count()?;
    let bytes = reader.bytes(length)?;
    String::from_utf8(bytes.to_vec()).map_err(|_| Damage("a name is not text"))
}

/// The columns of all series.
struct Measured {
    /// How many series each execution has.
    counts: Vec<usize>,
    /// For each series: the index of its metric, and how many values and iterations it has.
    shapes: Vec<[usize; 3]>,
    /// For each metric: all iterations and all values.
    columns: Vec<(Vec<u64>, Vec<f64>)>,
}

impl Measured {
    fn read(reader: &mut Reader<'_>, head: &Head) -> Result<Self, Damage> {
        let (counts, total) = reader.counts(head.count)?;
        let (metrics, _) = reader.counts(total)?;
        let (values, _) = reader.counts(total)?;
        let (iterations, _) = reader.counts(total)?;
        let shapes: Vec<[usize; 3]> =
            (0..total).map(|index| [metrics[index], values[index], iterations[index]]).collect();
        let mut sizes = vec![[0, 0]; head.metrics.len()];
        for [metric, values, iterations] in &shapes {
            let size = sizes.get_mut(*metric).ok_or(Damage("a metric is missing"))?;
            *size = [size[0] + values, size[1] + iterations];
        }
        let columns = sizes.into_iter().map(|[values, iterations]| {
            let iterations = reader.column(iterations)?;
            let totals = reader.number()? == 1;
            let numbers = reader.column(values)?;
            if totals && iterations.len() != numbers.len() {
                return Err(Damage("it has totals without iterations"));
            }
            let values = if totals {
                numbers.iter().zip(&iterations).map(|(n, i)| measurement(*n, *i)).collect()
            } else {
                numbers.into_iter().map(f64::from_bits).collect()
            };
            Ok((iterations, values))
        });
        let columns = columns.collect::<Result<_, _>>()?;
        Ok(Self { counts, shapes, columns })
    }

    /// The series of each execution. Their sizes add up to those of the columns.
    fn series(self, head: &Head) -> Vec<Vec<Series>> {
        let mut columns: Vec<_> = self.columns.iter().map(|(i, v)| (&i[..], &v[..])).collect();
        let mut shapes = self.shapes.iter();
        let mut one = |[metric, values, iterations]: &[usize; 3]| {
            let column = &mut columns[*metric];
            let (now, later) = (column.0.split_at(*iterations), column.1.split_at(*values));
            *column = (now.1, later.1);
            let metric = head.metrics[*metric].clone();
            Series { metric, iterations: now.0.to_vec(), values: later.0.to_vec() }
        };
        let of_execution = |count: &usize| shapes.by_ref().take(*count).map(&mut one).collect();
        self.counts.iter().map(of_execution).collect()
    }
}

fn read_asked(
    reader: &mut Reader<'_>,
    count: usize,
) -> Result<impl Iterator<Item = (ExecutionRequest, Option<Duration>)> + use<>, Damage> {
    let [measurements, warm_up, floor, iterations, seed, spent] = columns(reader, count)?;
    Ok((0..count).map(move |index| {
        let asked = ExecutionRequest {
            measurements: usize::try_from(measurements[index]).unwrap_or(usize::MAX),
            warm_up: Duration::from_nanos(warm_up[index]),
            floor: Duration::from_nanos(floor[index]),
            iterations: optional(iterations[index]),
            seed: seed[index],
        };
        (asked, optional(spent[index]).map(Duration::from_nanos))
    }))
}

fn read_throughput(
    reader: &mut Reader<'_>,
    count: usize,
) -> Result<impl Iterator<Item = Vec<Throughput>> + use<>, Damage> {
    let (counts, total) = reader.counts(count)?;
    let [kinds, amounts] = columns(reader, total)?;
    let throughput = |(kind, amount): (u64, u64)| match kind {
        0 => Ok(Throughput::Bytes(amount)),
        1 => Ok(Throughput::BytesDecimal(amount)),
        2 => Ok(Throughput::Bits(amount)),
        3 => Ok(Throughput::Elements(amount)),
        _ => Err(Damage("a throughput is unknown")),
    };
    let all: Vec<_> = kinds.into_iter().zip(amounts).map(throughput).collect::<Result<_, _>>()?;
    let mut all = all.into_iter();
    Ok(counts.into_iter().map(move |count| all.by_ref().take(count).collect()))
}

fn read_resources(
    reader: &mut Reader<'_>,
    count: usize,
) -> Result<impl Iterator<Item = Resources> + use<>, Damage> {
    let [start, wall, user, system, memory, voluntary, involuntary, instructions, cycles] =
        columns(reader, count)?;
    Ok((0..count).map(move |index| Resources {
        start: SystemTime::UNIX_EPOCH + Duration::from_nanos(start[index]),
        wall: Duration::from_nanos(wall[index]),
        user: Duration::from_nanos(user[index]),
        system: Duration::from_nanos(system[index]),
        peak_memory: optional(memory[index]),
        voluntary_switches: voluntary[index],
        involuntary_switches: involuntary[index],
        instructions: optional(instructions[index]),
        cycles: optional(cycles[index]),
    }))
}

/// Several columns of one length.
fn columns<const N: usize>(reader: &mut Reader<'_>, count: usize) -> Result<[Vec<u64>; N], Damage> {
    let mut columns = [const { Vec::new() }; N];
    for column in &mut columns {
        *column = reader.column(count)?;
    }
    Ok(columns)
}

/// The number that became this one, if there was one.
const fn optional(number: u64) -> Option<u64> {
    number.checked_sub(1)
}
