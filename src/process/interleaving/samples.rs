//! What a sampled process has left in the shared memory.

use std::{
    mem::offset_of,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use rbench_code::samples::{Interrupted, Mapped, SampledState, SampledThread, mapped_files};

use super::{
    InterleavedProcess, SharedPage,
    page::{MAPS, Page, SAMPLE_WORDS, Samples, state},
};
use crate::error::Result;

#[derive(Clone, Debug, Default)]
pub struct Sampled {
    pub mapped: Vec<Mapped>,
    /// The samples, in the order in which they were taken.
    pub samples: Vec<Sample>,
    /// Its time slices: the number of clock readings before each, and whether it was sampled.
    pub slices: Vec<(u64, bool)>,
    pub dropped: u64,
    /// The number of clock readings before the first one that was kept, and those that were kept.
    pub readings: (u64, Vec<i64>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    pub thread: SampledThread,
    pub state: SampledState,
    /// True if its stack may be longer than what was copied.
    pub may_be_cut: bool,
    /// The number of clock readings before it.
    pub readings: u64,
    pub interrupted: Interrupted,
}

impl InterleavedProcess {
    /// The samples of the ended process. It may have written anything.
    pub fn sampled(&self) -> Result<Sampled> {
        let memory = &self.page.0;
        let length = offset_of!(Page, maps_length) + 4 * self.index;
        let length = u32::from_ne_bytes(memory.read(length)?) as usize;
        let list = memory.bytes(offset_of!(Page, maps) + MAPS * self.index, length.min(MAPS))?;
        let samples = offset_of!(Page, samples) + size_of::<Samples>() * self.index;
        let used = memory.number(samples + offset_of!(Samples, used))?;
        let used = usize::try_from(used).unwrap_or(usize::MAX).min(SAMPLE_WORDS);
        let words = memory.bytes(samples + offset_of!(Samples, words), 8 * used)?;
        let words: Vec<u64> =
            words.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let (samples_found, slices) = parsed(&words);
        Ok(Sampled {
            mapped: mapped_files(&String::from_utf8_lossy(&list)),
            samples: samples_found,
            slices,
            dropped: memory.number(samples + offset_of!(Samples, dropped))?,
            readings: self.numbered_readings()?,
        })
    }
}

impl SharedPage {
    /// Acts while both processes, or one that runs [alone](InterleavedProcess::alone), are sampled at about this interval, from one of these `cpus`, if there are any.
    pub fn sampled_while<T>(
        &self,
        period: Duration,
        cpus: &[usize],
        act: impl FnOnce() -> T,
    ) -> Result<T> {
        self.0.write(offset_of!(Page, is_sampled), &1_u32.to_ne_bytes())?;
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            let sampler = scope.spawn(|| self.take_samples(period, cpus, &is_done));
            let result = act();
            is_done.store(true, Ordering::Relaxed);
            match sampler.join() {
                Ok(taken) => taken.map(|()| result),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }
}

/// Reads samples and the beginnings of time slices up to the first that was not finished.
fn parsed(mut words: &[u64]) -> (Vec<Sample>, Vec<(u64, bool)>) {
    let (mut samples, mut slices) = (Vec::new(), Vec::new());
    while let [first, readings, rest @ ..] = words {
        words = match first {
            0 => break,
            1 | 2 => {
                slices.push((*readings, *first == 2));
                rest
            }
            _ => {
                let [instruction, stack_pointer, frame_pointer, link, rest @ ..] = rest else {
                    break;
                };
                let count = |number: u64| usize::try_from(number & 0xffff).unwrap_or_default();
                let (claimed, copied) = (count(*first), count(first >> 16));
                let Some((stack, rest)) = rest.split_at_checked(claimed) else { break };
                let bits = u32::try_from(first >> 32).unwrap_or_default().wrapping_sub(1);
                samples.push(Sample {
                    thread: if bits & state::MEASURES == 0 {
                        SampledThread::Other
                    } else {
                        SampledThread::Measuring
                    },
                    state: match bits & (state::IN_KERNEL | state::WAITING) {
                        state::WORKING => SampledState::Working,
                        state::IN_KERNEL => SampledState::InKernel,
                        _ => SampledState::Waiting,
                    },
                    may_be_cut: bits & state::MAY_BE_CUT != 0,
                    readings: *readings,
                    interrupted: Interrupted {
                        instruction: *instruction,
                        stack_pointer: *stack_pointer,
                        frame_pointer: *frame_pointer,
                        link: *link,
                        stack: stack[..copied.min(claimed)].to_vec(),
                    },
                });
                rest
            }
        };
    }
    (samples, slices)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn samples_and_slices_are_read_up_to_the_first_that_is_unfinished() {
        let slice = |is_sampled| vec![1 + u64::from(is_sampled), 7];
        let sample = |bits: u32| vec![2 | 1 << 16 | (u64::from(bits) + 1) << 32, 8, 1, 2, 3, 4];
        let words = [
            slice(true),
            sample(state::MEASURES | state::IN_KERNEL),
            vec![10, 0],
            slice(false),
            sample(state::WAITING),
            vec![11, 0],
            vec![0; 9],
            sample(0),
            vec![12, 0],
        ];
        let (samples, slices) = parsed(&words.concat());
        assert_eq!(slices, [(7, true), (7, false)]);
        let found: Vec<_> = samples.iter().map(|one| (one.thread, one.state)).collect();
        let expected = [
            (SampledThread::Measuring, SampledState::InKernel),
            (SampledThread::Other, SampledState::Waiting),
        ];
        assert_eq!(found, expected);
        assert_eq!((&samples[0].interrupted.stack, samples[0].readings), (&vec![10], 8));
    }

    proptest! {
        #[test]
        fn parsing_never_fails(words in prop::collection::vec(any::<u64>(), 0..200)) {
            parsed(&words);
        }
    }
}
