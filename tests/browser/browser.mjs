// Debian's browser, as all scripts here use it.
import { chromium } from "playwright-core";

// Without a name, the profile is new and is removed at the end.
export const launched = (options) => chromium.launchPersistentContext("", {
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
  ...options,
});
