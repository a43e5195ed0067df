//! The picture of README.md: draws coloured output of a terminal as `STEM-light.svg` and `STEM-dark.svg`. It is a part of
//! the demo, which needs an otherwise idle machine:
//!
//! ```sh
//! COLUMNS=96 cargo run -- demo --color always |
//!     sed -n '/compare HEAD~3/,/fingerprint/{p;s/^fingerprint.*//p}; /compare HEAD~2/,/fingerprint: executes/p' |
//!     cargo run -p lab --bin still -- docs/pictures/demo
//! ```

use std::{error::Error, fmt::Write as _, fs, io};

/// Pixels: the advance of a character, the distance of lines, and the margin.
const COLUMN: f64 = 8.1;
const LINE: usize = 19;
const MARGIN: usize = 14;

struct Scheme {
    name: &'static str,
    paper: &'static str,
    /// Of text, and of the SGR parameters 31, 32, 33 and 2.
    inks: [&'static str; 5],
}

const SCHEMES: [Scheme; 2] = [
    Scheme {
        name: "light",
        paper: "#f6f8fa",
        inks: ["#1f2328", "#cf222e", "#116329", "#7d4e00", "#59636e"],
    },
    Scheme {
        name: "dark",
        paper: "#151b23",
        inks: ["#f0f6fc", "#ff7b72", "#56d364", "#e3b341", "#9198a1"],
    },
];

fn main() -> Result<(), Box<dyn Error>> {
    let stem = std::env::args().nth(1).ok_or("the stem of the file names is missing")?;
    let lines = io::read_to_string(io::stdin())?;
    for scheme in &SCHEMES {
        fs::write(format!("{stem}-{}.svg", scheme.name), draw(&lines, scheme))?;
    }
    Ok(())
}

fn draw(text: &str, scheme: &Scheme) -> String {
    let mut svg = String::new();
    let mut columns = 0;
    for (index, line) in text.lines().enumerate() {
        let y = MARGIN + LINE * index + 14;
        let mut column = 0;
        let (mut bold, mut ink) = (false, 0);
        // Each part but the first starts with the parameters of a style.
        for (part, run) in line.split("\u{1b}[").enumerate() {
            let run = match run.split_once('m') {
                Some((parameters, run)) if part > 0 => {
                    match parameters {
                        "1" => bold = true,
                        "31" => ink = 1,
                        "32" => ink = 2,
                        "33" => ink = 3,
                        "2" => ink = 4,
                        _ => (bold, ink) = (false, 0),
                    }
                    run
                }
                _ => run,
            };
            // A place for each run, and for what follows a gap, keeps columns in line in every font.
            for word in run.split_inclusive("  ") {
                let shown = word.trim();
                let x = column + word.chars().take_while(|c| *c == ' ').count();
                column += word.chars().count();
                if !shown.is_empty() {
                    let x = MARGIN as f64 + COLUMN * x as f64;
                    let weight = if bold { r#" font-weight="bold""# } else { "" };
                    let fill = match ink {
                        0 => String::new(),
                        ink => format!(r#" fill="{}""#, scheme.inks[ink]),
                    };
                    let shown = shown.replace('&', "&amp;").replace('<', "&lt;");
                    let _ =
                        writeln!(svg, r#"<text x="{x:.1}" y="{y}"{weight}{fill}>{shown}</text>"#);
                }
            }
        }
        columns = columns.max(column);
    }
    let width = (2.0 * MARGIN as f64 + COLUMN * columns as f64).ceil();
    let height = 2 * MARGIN + LINE * text.lines().count();
    let Scheme { paper, inks, .. } = scheme;
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13.5" fill="{}">
<rect width="100%" height="100%" rx="6" fill="{paper}"/>
{svg}</svg>
"#,
        inks[0]
    )
}
