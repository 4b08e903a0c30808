// Has Chromium play a page, and prints as JSON what page and browser saw. `cargo xtask browser`
// runs it in the namespace behind the tight link. Its one argument is JSON:
// { chromium, packages, url, address, certificate, seconds, patience }, where `packages` is the
// folder of playwright-core.

import { createHash, X509Certificate } from "node:crypto";
import { createRequire } from "node:module";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const asked = JSON.parse(process.argv[2]);
const { chromium } = createRequire(join(asked.packages, "package.json"))("playwright-core");
const { host, hostname } = new URL(asked.url);
// The browser trusts this certificate's key and no other.
const { publicKey } = new X509Certificate(await readFile(asked.certificate));
const key = publicKey.export({ type: "spki", format: "der" });
const spki = createHash("sha256").update(key).digest("base64");
const profile = await mkdtemp(join(tmpdir(), "imtcp-browser-"));

// Ends the browser, if it has begun, and removes what it wrote. This is done once, whoever asks.
let left;
const leave = () => (left ??= (async () => {
  const browser = await launching.catch(() => null);
  await browser?.close().catch(() => {});
  await rm(profile, { recursive: true, force: true, maxRetries: 3 });
})());

const launching = chromium.launchPersistentContext(profile, {
  executablePath: asked.chromium,
  headless: true,
  chromiumSandbox: false,
  // Signals are handled below: the profile has to go, too.
  handleSIGINT: false,
  handleSIGTERM: false,
  handleSIGHUP: false,
  args: [
    "--disable-gpu",
    "--enable-quic",
    `--origin-to-force-quic-on=${host}`,
    // No name is asked for anywhere.
    `--host-resolver-rules=MAP ${hostname} ${asked.address}, MAP * ~NOTFOUND`,
    `--ignore-certificate-errors-spki-list=${spki}`,
    "--autoplay-policy=no-user-gesture-required",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) {
  process.on(signal, () => leave().finally(() => process.exit(1)));
}

const answers = [];
const complaints = [];
try {
  const browser = await launching;
  const page = browser.pages()[0] ?? (await browser.newPage());
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("response", async (response) => {
    const fields = await response.allHeaders().catch(() => ({}));
    const path = new URL(response.url()).pathname;
    answers.push({ path, status: response.status(), cmsd: fields["cmsd-dynamic"] ?? null });
  });
  await page.goto(asked.url, { timeout: 30_000 });
  const until = Date.now() + 1000 * asked.patience;
  let report;
  do {
    await new Promise((done) => setTimeout(done, 500));
    report = await page.evaluate(() => window.report?.());
  } while (!report?.ended && (report?.played ?? 0) < asked.seconds && Date.now() < until &&
    !report?.errors.length);
  const version = browser.browser()?.version() ?? null;
  console.log(JSON.stringify({ ...report, answers, complaints, version }));
} finally {
  await leave();
}
