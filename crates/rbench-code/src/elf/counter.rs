//! Instructions that read the processor's time-stamp counter: a clock that no function of the C library shows.

use object::{Architecture, Object as _, ObjectSegment as _};

use super::{LinkedFunction, Unreadable};

/// The addresses of the instructions in these functions of an executable that read the counter.
///
/// # Errors
/// [`Unreadable`] if the bytes are no executable.
pub fn counter_reads(
    executable: &[u8],
    functions: &[LinkedFunction],
) -> Result<Vec<u64>, Unreadable> {
    let parsed = object::File::parse(executable)?;
    let segments: Vec<(u64, &[u8])> = parsed
        .segments()
        .filter_map(|segment| Some((segment.address(), segment.data().ok()?)))
        .collect();
    let code_of = |function: &LinkedFunction| {
        segments.iter().find_map(|(start, data)| {
            let from = usize::try_from(function.address.checked_sub(*start)?).ok()?;
            data.get(from..from.checked_add(usize::try_from(function.size).ok()?)?)
        })
    };
    let find = match parsed.architecture() {
        Architecture::X86_64 => in_x86_64,
        _ => in_aarch64,
    };
    let found =
        functions.iter().filter_map(|function| Some((function.address, code_of(function)?)));
    Ok(found.flat_map(|(address, code)| find(code, address)).collect())
}

fn in_x86_64(code: &[u8], address: u64) -> Vec<u64> {
    use iced_x86::{Decoder, DecoderOptions, Mnemonic};
    // `rdtsc` and `rdtscp` begin so. Other instructions may contain these bytes.
    if !code.windows(2).any(|bytes| matches!(bytes, [0x0f, 0x31 | 0x01])) {
        return Vec::new();
    }
    let instructions = Decoder::with_ip(64, code, address, DecoderOptions::NONE).into_iter();
    let reads =
        instructions.filter(|one| matches!(one.mnemonic(), Mnemonic::Rdtsc | Mnemonic::Rdtscp));
    reads.map(|one| one.ip()).collect()
}

fn in_aarch64(code: &[u8], address: u64) -> Vec<u64> {
    /// `mrs` of `cntpct_el0`, `cntvct_el0`, `cntpctss_el0` and `cntvctss_el0`, without the register.
    const READS: [u32; 4] = [0xd53b_e020, 0xd53b_e040, 0xd53b_e0a0, 0xd53b_e0c0];
    let words = code.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
    let reads = words.zip((address..).step_by(4)).filter(|(word, _)| READS.contains(&(word & !31)));
    reads.map(|(_, at)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_reads_of_x86_64_are_whole_instructions() {
        // mov eax, 0x310f; rdtsc; rdtscp; lfence
        let code = [0xb8, 0x0f, 0x31, 0, 0, 0x0f, 0x31, 0x0f, 0x01, 0xf9, 0x0f, 0xae, 0xe8];
        assert_eq!(in_x86_64(&code, 100), [105, 107]);
        assert_eq!(in_x86_64(&code[..5], 100), [] as [u64; 0]);
    }

    #[test]
    fn counter_reads_of_aarch64_have_any_register() {
        // nop; mrs x3, cntvct_el0; mrs x0, tpidr_el0; mrs x8, cntvctss_el0
        let code = [0xd503_201f_u32, 0xd53b_e043, 0xd53b_d040, 0xd53b_e0c8];
        let code = code.map(u32::to_le_bytes);
        assert_eq!(in_aarch64(code.as_flattened(), 64), [68, 76]);
    }
}
