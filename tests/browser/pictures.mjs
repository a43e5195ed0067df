// Takes the pictures of docs/guide.md from made-up pages: `node pictures.mjs PAGES DIRECTORY`.
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launched } from "./browser.mjs";

const [pages, directory] = process.argv.slice(2).map((path) => resolve(path));
const browser = await launched({ viewport: { width: 900, height: 1400 } });
for (const [name, path, last] of [["comparison", "few.html", "#b0"], ["history", "history.html#on=b0", "#b1"]]) {
  for (const scheme of ["light", "dark"]) {
    const page = await browser.newPage();
    await page.emulateMedia({ colorScheme: scheme });
    await page.goto(pathToFileURL(pages) + "/" + path);
    // Lists below the drawings are text that the guide has no room for.
    await page.locator("table.versions, .code, .d p:has(+ .code)").evaluateAll((all) => all.forEach((one) => one.remove()));
    const head = await page.locator("table.rows > thead").boundingBox();
    const end = await page.locator(last).boundingBox();
    const clip = { x: head.x - 12, y: head.y - 4, width: head.width + 24, height: end.y + end.height - head.y + 8, scale: 1.5 };
    // As PNG, the pictures would be three times as large.
    const session = await browser.newCDPSession(page);
    const picture = await session.send("Page.captureScreenshot", { format: "webp", quality: 70, clip, captureBeyondViewport: true });
    writeFileSync(join(directory, `${name}-${scheme}.webp`), Buffer.from(picture.data, "base64"));
    await page.close();
  }
}
await browser.close();
