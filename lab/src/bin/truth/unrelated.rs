//! Code that no benchmark calls, different for each number. It moves the borders of codegen units,
//! and with them every function of a library, without changing one.

/// Bodies that need different parts of the standard library. `NUMBER` becomes the number.
const BODIES: [&str; 6] = [
    r#"    let mut text = String::new();
    for row in 0..seed % NUMBER {
        text.push_str(&format!("{row}: {}\n", row.wrapping_mul(NUMBER) ^ seed));
    }
    text.len() as u64
"#,
    r#"    let mut counts = std::collections::BTreeMap::<String, u64>::new();
    for value in 0..seed % NUMBER {
        *counts.entry(format!("{:x}", value % 7)).or_default() += value;
    }
    counts.into_iter().map(|(word, count)| word.len() as u64 * count).sum()
"#,
    r"    let size = (seed % NUMBER) as usize;
    let matrix: Vec<Vec<f64>> =
        (0..size).map(|i| (0..size).map(|j| (i * NUMBER + j) as f64).collect()).collect();
    let product = |i: usize, j: usize| -> f64 { (0..size).map(|k| matrix[i][k] * matrix[k][j]).sum() };
    (0..size).map(|i| product(i, size - 1 - i)).sum::<f64>() as u64
",
    r"    let mut words: Vec<String> = (0..seed % NUMBER).map(|value| (value * NUMBER).to_string()).collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.dedup();
    words.concat().len() as u64
",
    r"    let list: Vec<String> = (0..seed % NUMBER).map(|value| (value * 3).to_string()).collect();
    let parsed: Result<Vec<u64>, _> = list.iter().map(|word| word.parse()).collect();
    parsed.map_or(NUMBER, |values| values.iter().sum())
",
    r#"    let mut places = std::collections::HashMap::<String, Vec<u64>>::new();
    for value in 0..seed % NUMBER {
        places.entry(format!("{}", value % 11)).or_default().push(value);
    }
    places.values().map(|of_one| of_one.iter().max().copied().unwrap_or(NUMBER)).sum()
"#,
];

/// The text of the fixture's `src/unrelated.rs` in the version of this number: up to three
/// functions, all of which stay in the program.
pub fn source(number: usize) -> String {
    let count = 1 + number % 3;
    let names: Vec<String> = (0..count).map(|index| format!("part_{number}_{index}")).collect();
    let mut source = "//! Code that no benchmark calls.\n\nuse std::hint::black_box;\n".to_owned();
    for (index, name) in names.iter().enumerate() {
        let body = BODIES[(number + index) % BODIES.len()];
        let body = body.replace("NUMBER", &(1000 + 13 * number + index).to_string());
        source += &format!("\n#[inline(never)]\npub fn {name}(seed: u64) -> u64 {{\n{body}}}\n");
    }
    let calls: Vec<String> = names.iter().map(|name| format!("{name}(black_box(seed))")).collect();
    source += &format!(
        "\n/// Called once by each bench target, before any benchmark.\n\
         pub fn touch(seed: u64) -> u64 {{\n    {}\n}}\n",
        calls.join(" ^ ")
    );
    source
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_give_different_code_that_is_all_called() {
        let sources: Vec<String> = (0..40).map(source).collect();
        for (number, text) in sources.iter().enumerate() {
            assert!(!text.contains("NUMBER"));
            assert!(!sources[..number].contains(text), "{number}");
            for function in text.matches("pub fn part_").enumerate() {
                assert!(text.contains(&format!("part_{number}_{}(black_box", function.0)));
            }
        }
    }
}
