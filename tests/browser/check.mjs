// Opens pages in a browser as their readers would: `node check.mjs PAGES SCREENSHOTS`.
//
// PAGES is what `cargo run -p lab --bin html_samples -- PAGES` writes. Every page is opened in both colour schemes, at
// three widths, with and without JavaScript; nothing may be requested, logged or found by axe. What is required is
// printed as lines for the table of .ci/report, in the file that $BARS names.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launched } from "./browser.mjs";

const require = createRequire(import.meta.url);
const { AxeBuilder } = require("@axe-core/playwright");
const [pages, screenshots] = process.argv.slice(2).map((path) => resolve(path));
assert(pages && screenshots, "usage: node check.mjs PAGES SCREENSHOTS");
mkdirSync(screenshots, { recursive: true });

const names = ["compare", "few", "history", "diagnose", "explain", "long"];
const widths = [375, 820, 1280];
const schemes = ["light", "dark"];
const address = (name) => pathToFileURL(join(pages, `${name}.html`)).href;

const browser = await launched({ acceptDownloads: true });

let requests = 0;
let missed = 0;
let failed = 0;

// What was measured of something that is required.
function bar(name, required, measured, isKept) {
  const line = [name, required, measured, isKept ? "ok" : "missed"].join("\t");
  if (process.env.BARS) appendFileSync(process.env.BARS, `${line}\n`);
  else console.log(line);
  if (!isKept) missed += 1;
}
const none = (name, found) => bar(name, "0", String(found.length), found.length === 0);

// A page in which anything that is logged, requested or thrown is a failure.
async function opened(context, name, { width = 1280, scheme = "light", hash = "" } = {}) {
  const page = await context.newPage();
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia({ colorScheme: scheme });
  const found = [];
  page.on("console", (message) => found.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => found.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => { found.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => {
    if (request.isNavigationRequest() || request.url().startsWith("blob:")) return;
    requests += 1;
    found.push(`request: ${request.url()}`);
  });
  await page.goto(address(name) + hash);
  return { page, found };
}

async function close({ page, found }) {
  await page.close();
  assert.deepEqual(found, []);
}

const visible = (page) => page.locator("table.rows > tbody:not([hidden]) > tr:first-child > th").allTextContents();
const trimmed = (texts) => texts.map((text) => text.trim());

// All checks run, whatever one of them finds.
async function check(name, run) {
  const begin = performance.now();
  try {
    await run();
    console.log(`ok ${name} (${Math.round(performance.now() - begin)} ms)`);
  } catch (error) {
    failed += 1;
    console.log(`failed: ${name}: ${error.message}`);
  }
}

await check("the sizes of the largest pages", () => {
  for (const [name, what, most] of [
    ["compare", "compare page, 100 benchmarks x 2 versions", 150],
    ["long", "history page, 100 benchmarks x 10,000 commits", 3000],
  ]) {
    const size = statSync(join(pages, `${name}.html`)).size / 1000;
    bar(what, `<= ${most} kB`, `${size.toFixed(1)} kB`, size <= most);
  }
});

await check("the first paint of each page", async () => {
  for (const name of names) {
    const at = await opened(browser, name);
    const paint = await at.page.evaluate(() => new Promise((resolve) => {
      new PerformanceObserver((list) => resolve(list.getEntriesByName("first-contentful-paint")[0].startTime))
        .observe({ type: "paint", buffered: true });
    }));
    bar(`first paint, ${name}`, "<= 1000 ms", `${Math.round(paint)} ms`, paint <= 1000);
    await close(at);
  }
});

await check("no violation that axe finds, in both colour schemes, folded and unfolded", async () => {
  // Rows are alike: some of a large page stand for all.
  const some = 12;
  for (const name of names) {
    const printed = [];
    await Promise.all(schemes.map(async (scheme) => {
      const at = await opened(browser, name, { scheme });
      for (const isUnfolded of [false, true]) {
        await at.page.evaluate(([isUnfolded, some]) => {
          const unfolded = [...document.querySelectorAll(`tbody > tr > th > button[aria-expanded=${!isUnfolded}]`)];
          (isUnfolded ? unfolded.slice(0, some) : unfolded).forEach((one) => one.click());
          document.querySelectorAll("section > details, .d details details").forEach((one) => { one.open = isUnfolded; });
        }, [isUnfolded, some]);
        const { violations } = await new AxeBuilder({ page: at.page }).analyze();
        const state = `${name}, ${scheme}, ${isUnfolded ? "unfolded" : "folded"}`;
        printed.push(...violations.map((one) => `${state}: ${one.id}, ${one.nodes.length} times, at first ${one.nodes[0].html} ` +
          one.nodes[0].failureSummary));
      }
      await close(at);
    }));
    none(`axe violations, ${name}, light and dark, folded and unfolded`, printed);
    printed.forEach((one) => console.log(one));
  }
});

await check("names are only text", async () => {
  const elements = [];
  for (const name of names) {
    const at = await opened(browser, name);
    const made = at.page.locator("img, iframe, object, embed, link, form, base, [onerror], [style]");
    elements.push(...await made.evaluateAll((all) => all.map((one) => one.outerHTML.slice(0, 200))));
    const scripts = await at.page.locator("script").count();
    if (scripts !== 2) elements.push(`${scripts} scripts`);
    await close(at);
  }
  none("elements made of hostile names, all pages", elements);
  elements.forEach((one) => console.log(one));
  const at = await opened(browser, "few");
  const hostile = trimmed(await visible(at.page)).filter((text) => text.startsWith("</script><img src=x"));
  assert.equal(hostile.length, 1);
  await close(at);
});

await check("what changed stands first, and its builds are shown", async () => {
  const at = await opened(browser, "compare");
  const kinds = await at.page.locator("table.rows > tbody").evaluateAll((all) => all.map((body) => body.className));
  assert.deepEqual(kinds.slice(0, 4), Array(4).fill("regressed"));
  assert.equal(await at.page.locator(".d.on").count(), 3);
  assert.equal(await at.page.locator(".d.on figure.p svg").first().isVisible(), true);
  await close(at);
});

await check("a reader filters, and the address keeps it", async () => {
  const at = await opened(browser, "compare");
  const { page } = at;
  const all = (await visible(page)).length;
  await page.getByLabel("Benchmarks whose names contain").fill("sort");
  const sorts = trimmed(await visible(page));
  assert(sorts.length > 5 && sorts.every((text) => text.includes("sort")), sorts.join());
  await page.getByLabel("Show").selectOption("changed");
  const changed = trimmed(await visible(page));
  assert(changed.length < sorts.length && changed.length > 0);
  assert.match(await page.locator("output").textContent(), new RegExp(`^${changed.length} of ${all} shown$`));
  await page.reload();
  assert.deepEqual(trimmed(await visible(page)), changed);
  assert.equal(await page.getByLabel("Benchmarks whose names contain").inputValue(), "sort");
  await close(at);
});

await check("a reader sorts with the keyboard, and the address keeps it", async () => {
  const at = await opened(browser, "compare");
  const { page } = at;
  const before = trimmed(await visible(page));
  const button = page.locator("thead").getByRole("button", { name: "change" });
  const keys = () => page.locator("table.rows > tbody[data-s*=',']").evaluateAll((all) => all.map((body) => +body.dataset.s.split(",")[2]));
  await button.focus();
  await page.keyboard.press("Enter");
  const falling = await keys();
  assert.deepEqual(falling, [...falling].sort((a, b) => b - a));
  assert.equal(await page.locator("th[aria-sort=descending]").count(), 1);
  await page.reload();
  assert.deepEqual(await keys(), falling);
  await button.press("Enter");
  assert.deepEqual(await keys(), [...falling].reverse());
  await button.press("Enter");
  assert.deepEqual(trimmed(await visible(page)), before);
  await close(at);
});

await check("a reader unfolds a benchmark with the keyboard, and the address keeps it", async () => {
  const at = await opened(browser, "compare");
  const { page } = at;
  const folded = page.locator("tbody.unchanged:has(figure.t)").first();
  const id = await folded.getAttribute("id");
  await folded.locator("th button").focus();
  await page.keyboard.press("Space");
  assert.equal(await page.locator(`#${id} figure.t`).isVisible(), true);
  await page.reload();
  assert.equal(await page.locator(`#${id} figure.t`).isVisible(), true);
  await close(at);
  const linked = await opened(browser, "compare", { hash: "#b20" });
  assert.equal(await linked.page.locator("#b20 figure.p").isVisible(), true);
  await close(linked);
});

await check("a reader saves the data", async () => {
  for (const name of names) {
    const at = await opened(browser, name);
    const download = at.page.waitForEvent("download");
    await at.page.getByRole("button", { name: "Save as JSON" }).click();
    const file = await download;
    assert(file.suggestedFilename().endsWith(".json"));
    const json = JSON.parse(readFileSync(await file.path(), "utf8"));
    assert.equal(json.schema_version, 1);
    assert((json.benchmarks || json.functions).length > 0, name);
    await close(at);
  }
});

await check("without JavaScript the same text is there, and can be unfolded", async () => {
  const plain = await launched({ javaScriptEnabled: false });
  // Every text of the page but those of the tools, in the order in which it stands there.
  const texts = (page) => page.evaluate(() => {
    const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    const found = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const text = node.data.trim();
      if (text && !node.parentElement.closest(".tools")) found.push(text);
    }
    return found;
  });
  for (const name of names) {
    const [without, withIt] = [await opened(plain, name), await opened(browser, name)];
    const there = new Set(await texts(without.page));
    none(`texts missing without JavaScript, ${name}`, (await texts(withIt.page)).filter((text) => !there.has(text)));
    assert.deepEqual(trimmed(await visible(without.page)), trimmed(await visible(withIt.page)));
    const last = without.page.locator("main details:not([open]) > summary").last();
    // A page about one benchmark has nothing to fold.
    assert.equal(await last.count() > 0, name !== "explain", name);
    if (name !== "explain") {
      const folded = last.locator("xpath=following-sibling::*[1]");
      assert.equal(await last.isVisible(), true, name);
      assert.equal(await folded.isVisible(), false, name);
      const box = await last.elementHandle();
      await box.click();
      assert.equal(await (await box.evaluateHandle((one) => one.nextElementSibling)).isVisible(), true, name);
    }
    await close(without);
    await close(withIt);
  }
  const explained = await opened(plain, "few");
  const part = explained.page.locator("details details", { hasText: "Where the instructions went" }).first();
  assert.equal(await part.locator("table").isVisible(), false);
  await part.locator("summary").click();
  assert.equal(await part.locator("table th[scope=row]").first().isVisible(), true);
  await close(explained);
  await plain.close();
});

await check("a reader unfolds where the instructions went", async () => {
  const at = await opened(browser, "few");
  const part = at.page.locator(".d.on details details").first();
  await part.locator("summary").focus();
  await at.page.keyboard.press("Enter");
  const functions = trimmed(await part.locator("tbody th[scope=row]").allTextContents());
  assert.equal(functions[0], "parser::lexer::Lexer<R>::next_token");
  assert.equal(functions.filter((name) => name.startsWith("</script>")).length, 1);
  const caused = await part.locator("tbody > tr > td:nth-child(1)").allTextContents();
  assert(caused.some((text) => Number(text.replaceAll(",", "")) !== 0), caused.join());
  await close(at);
});

await check("nothing is wider than the page, at three widths in both colour schemes", async () => {
  const wider = [];
  for (const name of names) {
    for (const width of widths) {
      for (const scheme of schemes) {
        const at = await opened(browser, name, { width, scheme });
        const wide = await at.page.evaluate(() => {
          document.querySelectorAll(".d.on details").forEach((one) => { one.open = true; });
          return document.documentElement.scrollWidth - innerWidth;
        });
        const path = join(screenshots, `${name}-${width}-${scheme}.png`);
        await at.page.screenshot({ path, fullPage: !["compare", "long"].includes(name) });
        if (wide > 0) wider.push(`${name} is ${wide} px too wide at ${width} px`);
        await close(at);
      }
    }
  }
  assert.deepEqual(wider, []);
});

await check("paper has the table and no tools", async () => {
  const at = await opened(browser, "few");
  await at.page.emulateMedia({ media: "print" });
  assert.equal(await at.page.locator(".tools").isVisible(), false);
  assert.equal(await at.page.locator("table.rows").isVisible(), true);
  await close(at);
});

await browser.close();
bar("network requests, all pages", "0", String(requests), requests === 0);

await check("the pages are valid HTML", () => {
  const jar = require.resolve("vnu-jar/build/dist/vnu.jar");
  const files = names.map((name) => join(pages, `${name}.html`));
  // Geometry and vector-effect are properties of CSS since SVG 2, which the checker does not know.
  const svg2 = "CSS: “(y|rx|cy|r|vector-effect)”: Property “.*” doesn't exist\\.";
  const options = ["--errors-only", "--stdout", "--exit-zero-always", "--filterpattern", svg2];
  const printed = execFileSync("java", ["-Xss8m", "-jar", jar, ...options, ...files], { encoding: "utf8" });
  none("messages of the HTML validator, all pages", printed.split("\n").filter((line) => line));
  console.log(printed);
});

bar("what else a reader finds and does", "0 failed", `${failed} failed`, failed === 0);
// A check that failed may have left a browser open.
process.exit(missed === 0 ? 0 : 1);
