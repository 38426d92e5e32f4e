// Opens a report in a headless Chromium and checks what only a browser can: nothing is logged as an error, nothing is fetched,
// columns sort, curves tell their values, series can be hidden, and the page is never wider than the window, at 1280 and 400 px,
// light and dark. Screenshots of all four are left beside the page.
//
//   cargo run --release -p residuum-lab --example report_store -- demo     a store with made-up numbers, and its report
//   npm install playwright-core        and a Chromium: apt install chromium, or npx playwright install chromium
//   node tools/report/check.mjs demo/report.html [chromium]
//
// Pages made by `residuum report` and `residuum compare --to` are checked the same way. Exits with 1 if a check fails. Not part of
// ./test: a browser is not on every machine.
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { statSync } from "node:fs";
import { execFileSync } from "node:child_process";

// Modules are taken from where the command is called, so that the repository needs none.
const { chromium } = createRequire(resolve("package.json"))("playwright-core");
const [file, browser_name = "chromium"] = process.argv.slice(2);
// Playwright wants the whole path of a browser that it has not installed itself.
const executablePath = execFileSync("which", [browser_name]).toString().trim();
const page_file = resolve(file);
let failures = 0;
const check = (holds, words) => {
  console.log(`${holds ? "ok  " : "FAIL"} ${words}`);
  failures += holds ? 0 : 1;
};

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
for (const width of [1280, 400]) {
  for (const colorScheme of ["light", "dark"]) {
    const at = `${width} px, ${colorScheme}`;
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
    const page = await context.newPage();
    const errors = [];
    const requests = [];
    page.on("console", message => message.type() === "error" && errors.push(message.text()));
    page.on("pageerror", error => errors.push(String(error)));
    page.on("request", request => requests.push(request.url()));
    const begun = Date.now();
    await page.goto(`file://${page_file}`, { waitUntil: "load" });
    const opened = Date.now() - begun;
    const outside = requests.filter(url => !url.startsWith("data:") && url !== `file://${page_file}`);
    check(outside.length === 0, `${at}: nothing is fetched ${outside.join(" ")}`);
    check(opened < 2000, `${at}: opens in ${opened} ms, ${(statSync(page_file).size / 1e6).toFixed(2)} MB`);

    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    check(overflow <= 0, `${at}: no horizontal overflow (${overflow} px)`);

    // On a narrow page a wide table is a list of cards, without a head to sort by; no cell may be cut off either way.
    const cut = await page.evaluate(() => [...document.querySelectorAll(".scroll")].filter(s => s.scrollWidth > s.clientWidth + 1).length);
    check(cut === 0, `${at}: no table is cut off (${cut})`);
    const table = page.locator("table.sortable").first();
    const isStacked = await table.evaluate(t => t.classList.contains("stacked"));
    if (!isStacked) {
      const last = (await table.locator("thead th").count()) - 1;
      const column = () => table.locator("tbody tr").evaluateAll((rows, i) => rows.map(row => Number(row.cells[i].dataset.key)), last);
      const numbers = (await column()).filter(x => !Number.isNaN(x));
      await table.locator("thead button").nth(last).click();
      const up = (await column()).filter(x => !Number.isNaN(x));
      await table.locator("thead button").nth(last).click();
      const down = (await column()).filter(x => !Number.isNaN(x));
      const ascending = [...numbers].sort((a, b) => a - b);
      check(String(up) === String(ascending) && String(down) === String(ascending.reverse()), `${at}: columns sort both ways`);
      check((await table.locator("th[aria-sort=descending]").count()) === 1, `${at}: the order is told`);
    }

    const chart = page.locator(".chart").first();
    await chart.scrollIntoViewIfNeeded();
    const box = await chart.locator("> svg").boundingBox();
    await page.mouse.move(box.x + 0.6 * box.width, box.y + 0.4 * box.height);
    const tip = chart.locator(".tip");
    const text = (await tip.isVisible()) ? await tip.innerText() : "";
    const data = JSON.parse(await chart.locator("script").textContent());
    check(data.series.every(s => text.includes(s.label)) && /\d/.test(text), `${at}: hovering tells values: ${text.replace(/\s+/g, " ")}`);
    const inside = await tip.boundingBox();
    check(inside && inside.x >= 0 && inside.x + inside.width <= width, `${at}: the values stay on the page`);
    await page.screenshot({ path: page_file.replace(/\.html$/, `-${width}-${colorScheme}-hover.png`) });

    const entry = page.locator("figure .legend button").first();
    if (await entry.count()) {
      const color = await entry.evaluate(button => button.parentElement.dataset.color);
      const path = chart.locator(`g[clip-path] path[fill="none"][stroke="${color}"]`).first();
      await entry.click();
      const hidden = !(await path.isVisible());
      await entry.click();
      check(hidden && (await path.isVisible()), `${at}: a series can be hidden and shown`);
    }
    await chart.locator("> svg").focus();
    await page.keyboard.press("ArrowRight");
    check(await tip.isVisible(), `${at}: values by keyboard`);
    await page.keyboard.press("Escape");

    await page.reload();
    await page.screenshot({ path: page_file.replace(/\.html$/, `-${width}-${colorScheme}.png`), fullPage: true });
    check(errors.length === 0, `${at}: no errors ${errors.join("; ")}`);
    await context.close();
  }
}

// Without scripts, tables and pictures must be there all the same.
const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 1280, height: 900 } });
const page = await context.newPage();
await page.goto(`file://${page_file}`);
check(await page.locator("table.sortable tbody tr").first().isVisible(), "without scripts: tables");
check(await page.locator(".chart > svg").first().isVisible(), "without scripts: figures");
await browser.close();
process.exit(failures ? 1 : 0);
