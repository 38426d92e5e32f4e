// Opens every page of the site in a headless Chromium, at 1280 and 400 px, light and dark, and checks what only a browser can: no page is
// wider than the window, no table, block or picture is cut off without a bar to scroll by, nothing is fetched from elsewhere, no script
// fails, and a search finds pages. Leaves screenshots of the main pages in the folder given.
//
//   tools/site                         makes target/site
//   npm install playwright-core        and a Chromium: apt install chromium
//   node tools/docs/site.mjs target/site [SCREENSHOTS] [chromium]
//
// Exits with 1 if a check fails. Not part of ./test: a browser is not on every machine.
import { createRequire } from "node:module";
import { basename, join, resolve } from "node:path";
import { readdirSync } from "node:fs";
import { execFileSync } from "node:child_process";

// Modules are taken from where the command is called, so that the repository needs none.
const { chromium } = createRequire(resolve("package.json"))("playwright-core");
const [folder, shots, name = "chromium"] = process.argv.slice(2);
const root = resolve(folder);
const SHOWN = ["index", "gallery", "faq", "cli", "tutorial/drift", "how-to/rules", "results/README", "results/rule-presets", "results/reproduce/README", "python/api"];

const isPage = path => path.endsWith(".html") && !["404.html", "toc.html"].includes(basename(path)) && !path.startsWith("api");
const pages = readdirSync(root, { recursive: true }).map(String).filter(isPage).sort();
const browser = await chromium.launch({ executablePath: execFileSync("which", [name]).toString().trim(), args: ["--no-sandbox"] });
let failures = pages.length ? 0 : 1;
const fail = words => { failures += 1; console.log(`FAIL ${words}`); };

// What reaches beyond the window and cannot be scrolled to.
const cut = () => {
  const width = document.documentElement.clientWidth;
  const scrolls = element => element && element.tagName !== "BODY" && (/auto|scroll/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
  const all = [...document.querySelectorAll("main table, main pre, main img, main p, main li, main h1, main h2")];
  return all.filter(e => e.getBoundingClientRect().right > width + 1 && !scrolls(e)).map(e => `${e.tagName} ${e.textContent.slice(0, 40)}`);
};

for (const width of [1280, 400]) {
  for (const colorScheme of ["light", "dark"]) {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
    const page = await context.newPage();
    let at = "";
    page.on("pageerror", error => fail(`${at}: ${error}`));
    page.on("request", request => /^(file|data|blob):/.test(request.url()) || fail(`${at}: fetches ${request.url()}`));
    for (const path of pages) {
      at = `${path} at ${width} px, ${colorScheme}`;
      await page.goto(`file://${join(root, path)}`, { waitUntil: "load" });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (over > 0) fail(`${at}: ${over} px wider than the window`);
      for (const what of await page.evaluate(cut)) fail(`${at}: cut off: ${what}`);
      const shown = path.replace(/\.html$/, "");
      if (shots && SHOWN.includes(shown)) {
        await page.screenshot({ path: join(shots, `${shown.replaceAll("/", "-")}-${width}-${colorScheme}.png`) });
      }
    }
    at = `search at ${width} px, ${colorScheme}`;
    await page.goto(`file://${join(root, "index.html")}`, { waitUntil: "load" });
    await page.locator("#mdbook-search-toggle, #search-toggle").first().click();
    await page.locator("#mdbook-searchbar, #searchbar").first().pressSequentially("symmetric point");
    const found = page.locator("#mdbook-searchresults li, #searchresults li");
    await found.first().waitFor({ timeout: 10000 }).catch(() => fail(`${at}: nothing is found`));
    console.log(`${width} px, ${colorScheme}: ${pages.length} pages, ${await found.count()} results of a search`);
    await context.close();
  }
}
await browser.close();
process.exit(failures ? 1 : 0);
