//! Roman numerals.

const SYMBOLS: [(u16, &str); 13] = [
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
];

/// A number as the Romans wrote it.
pub fn roman(mut number: u16) -> String {
    let mut numeral = String::new();
    for (value, symbol) in SYMBOLS {
        while number >= value {
            numeral.push_str(symbol);
            number -= value;
        }
    }
    numeral
}
