//! Decodes the CBOR messages that a Criterion.rs process sends to its runner.
//!
//! Criterion.rs 0.3.3 and later: enums are externally tagged, structs are maps. Unneeded fields and
//! messages are ignored, so that later versions may add some. The bytes may be anything: the memory
//! used is at most a small multiple of their size.

use std::time::Duration;

use minicbor::{Decoder, data::Type, decode::Error};

use crate::{
    model::{Name, Throughput},
    secrets,
};

/// The needed parts of a message.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Message {
    /// The filter excluded this benchmark.
    Skipping(Name),
    Beginning,
    /// A benchmark was measured; the process now waits for `Continue`.
    Complete(Complete),
    /// A group has ended; the process now waits for `Continue`.
    FinishedGroup,
    /// The requested unit, and a value of 1 in it.
    Scaled {
        unit: String,
        one: f64,
    },
    Other,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Complete {
    pub(super) name: Name,
    pub(super) throughput: Vec<Throughput>,
    pub(super) iterations: Vec<f64>,
    /// Value of each measurement, for all its iterations together.
    pub(super) values: Vec<f64>,
    /// Number of measurements that the benchmark intended.
    pub(super) sample_size: u64,
    /// Warm-up time that the benchmark intended.
    pub(super) warm_up: Duration,
}

pub(super) fn decode(bytes: &[u8]) -> Result<Message, Error> {
    let mut decoder = Decoder::new(bytes);
    // A variant without fields is a plain string.
    if decoder.datatype()? == Type::String {
        return Ok(Message::Other);
    }
    let mut message = Message::Other;
    fields(&mut decoder, |decoder, variant| {
        message = match variant {
            "SkippingBenchmark" => Message::Skipping(skipping(decoder)?),
            "MeasurementComplete" => Message::Complete(complete(decoder)?),
            "ScaledValues" => scaled(decoder)?,
            "BeginningBenchmark" => {
                decoder.skip()?;
                Message::Beginning
            }
            "FinishedBenchmarkGroup" => {
                decoder.skip()?;
                Message::FinishedGroup
            }
            _ => {
                decoder.skip()?;
                Message::Other
            }
        };
        Ok(())
    })?;
    Ok(message)
}

/// Calls `field` with each key of a map, which must consume its value.
fn fields<'b>(
    decoder: &mut Decoder<'b>,
    mut field: impl FnMut(&mut Decoder<'b>, &'b str) -> Result<(), Error>,
) -> Result<(), Error> {
    let length = decoder.map()?;
    let mut seen = 0;
    while length.is_none_or(|length| seen < length) {
        if length.is_none() && decoder.datatype()? == Type::Break {
            return decoder.skip();
        }
        let key = decoder.str()?;
        field(decoder, key)?;
        seen += 1;
    }
    Ok(())
}

fn skipping(decoder: &mut Decoder<'_>) -> Result<Name, Error> {
    let mut found = None;
    fields(decoder, |decoder, key| match key {
        "id" => {
            found = Some(id(decoder)?.0);
            Ok(())
        }
        _ => decoder.skip(),
    })?;
    found.ok_or_else(|| Error::message("no id"))
}

fn complete(decoder: &mut Decoder<'_>) -> Result<Complete, Error> {
    let (mut named, mut iterations, mut values, mut config) = (None, Vec::new(), Vec::new(), None);
    fields(decoder, |decoder, key| {
        match key {
            "id" => named = Some(id(decoder)?),
            "iters" => iterations = floats(decoder)?,
            "times" => values = floats(decoder)?,
            "benchmark_config" => config = Some(benchmark_config(decoder)?),
            _ => decoder.skip()?,
        }
        Ok(())
    })?;
    let (name, throughput) = named.ok_or_else(|| Error::message("no id"))?;
    let (sample_size, warm_up) = config.ok_or_else(|| Error::message("no benchmark_config"))?;
    Ok(Complete { name, throughput, iterations, values, sample_size, warm_up })
}

fn scaled(decoder: &mut Decoder<'_>) -> Result<Message, Error> {
    let (mut unit, mut values) = (None, Vec::new());
    fields(decoder, |decoder, key| {
        match key {
            "unit" => unit = Some(text(decoder)?),
            "scaled_values" => values = floats(decoder)?,
            _ => decoder.skip()?,
        }
        Ok(())
    })?;
    match (unit, values.first()) {
        (Some(unit), Some(one)) => Ok(Message::Scaled { unit, one: *one }),
        _ => Err(Error::message("no unit")),
    }
}

/// A benchmark's id, and its throughput, which Criterion.rs counts as a part of it.
fn id(decoder: &mut Decoder<'_>) -> Result<(Name, Vec<Throughput>), Error> {
    let (mut group, mut function, mut parameter) = (None, None, None);
    let mut throughput = Vec::new();
    fields(decoder, |decoder, key| {
        match key {
            "group_id" => group = Some(text(decoder)?),
            "function_id" => function = optional_text(decoder)?,
            "value_str" => parameter = optional_text(decoder)?,
            "throughput" => throughput = throughputs(decoder)?,
            _ => decoder.skip()?,
        }
        Ok(())
    })?;
    let group = group.ok_or_else(|| Error::message("no group_id"))?;
    Ok((name(group, function, parameter), throughput))
}

/// Builds the name; its id is the text that Criterion.rs matches filters against.
fn name(group: String, function: Option<String>, parameter: Option<String>) -> Name {
    let parts = [Some(group.as_str()), function.as_deref(), parameter.as_deref()];
    let id = parts.into_iter().flatten().collect::<Vec<_>>().join("/");
    Name { id, group: Some(group), function, parameter }
}

fn optional_text(decoder: &mut Decoder<'_>) -> Result<Option<String>, Error> {
    if decoder.datatype()? == Type::Null {
        decoder.null()?;
        return Ok(None);
    }
    text(decoder).map(Some)
}

fn text(decoder: &mut Decoder<'_>) -> Result<String, Error> {
    Ok(secrets::text(decoder.str()?.as_bytes()))
}

/// One or none in a list.
fn throughputs(decoder: &mut Decoder<'_>) -> Result<Vec<Throughput>, Error> {
    let mut all = Vec::new();
    items(decoder, |decoder| {
        fields(decoder, |decoder, variant| {
            match variant {
                "Bytes" => all.push(Throughput::Bytes(decoder.u64()?)),
                "BytesDecimal" => all.push(Throughput::BytesDecimal(decoder.u64()?)),
                "Bits" => all.push(Throughput::Bits(decoder.u64()?)),
                "Elements" => all.push(Throughput::Elements(decoder.u64()?)),
                "ElementsAndBytes" => fields(decoder, |decoder, key| {
                    match key {
                        "elements" => all.push(Throughput::Elements(decoder.u64()?)),
                        "bytes" => all.push(Throughput::Bytes(decoder.u64()?)),
                        _ => decoder.skip()?,
                    }
                    Ok(())
                })?,
                _ => decoder.skip()?,
            }
            Ok(())
        })
    })?;
    Ok(all)
}

fn benchmark_config(decoder: &mut Decoder<'_>) -> Result<(u64, Duration), Error> {
    let (mut sample_size, mut seconds, mut nanos) = (0, 0, 0);
    fields(decoder, |decoder, key| {
        match key {
            "sample_size" => sample_size = decoder.u64()?,
            "warm_up_time" => fields(decoder, |decoder, key| {
                match key {
                    "secs" => seconds = decoder.u64()?,
                    "nanos" => nanos = decoder.u32()?,
                    _ => decoder.skip()?,
                }
                Ok(())
            })?,
            _ => decoder.skip()?,
        }
        Ok(())
    })?;
    let warm_up = Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanos.into()));
    Ok((sample_size, warm_up))
}

/// A list of numbers, each written as short as it goes.
fn floats(decoder: &mut Decoder<'_>) -> Result<Vec<f64>, Error> {
    let mut floats = Vec::new();
    items(decoder, |decoder| {
        floats.push(decoder.f64()?);
        Ok(())
    })?;
    Ok(floats)
}

/// Calls `item` for each item of a list, which it must consume. Nothing is reserved for a length
/// that is only claimed.
fn items<'b>(
    decoder: &mut Decoder<'b>,
    mut item: impl FnMut(&mut Decoder<'b>) -> Result<(), Error>,
) -> Result<(), Error> {
    let length = decoder.array()?;
    let mut seen = 0;
    while length.is_none_or(|length| seen < length) {
        if length.is_none() && decoder.datatype()? == Type::Break {
            return decoder.skip();
        }
        item(decoder)?;
        seen += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
