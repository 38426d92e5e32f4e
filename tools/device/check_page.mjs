// Opens a page of `residuum device fit --report` in a headless Chromium and checks what only a browser can: nothing is logged as an
// error, nothing is fetched, the figures are drawn, no table is cut off, and the page is never wider than the window, at 1280 and 400 px, light and dark.
// Screenshots of all four are left beside the page.
//
//   npm install playwright-core        and a Chromium: apt install chromium
//   node tools/device/check_page.mjs fit.html [chromium]
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { execFileSync } from "node:child_process";

// Modules are taken from where the command is called, so that the repository needs none.
const { chromium } = createRequire(resolve("package.json"))("playwright-core");
const [file, name = "chromium"] = process.argv.slice(2);
const executablePath = execFileSync("which", [name]).toString().trim();
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
    await page.goto(`file://${page_file}`, { waitUntil: "load" });
    const outside = requests.filter(url => !url.startsWith("data:") && url !== `file://${page_file}`);
    check(outside.length === 0, `${at}: nothing is fetched ${outside.join(" ")}`);
    check(errors.length === 0, `${at}: no errors ${errors.join(" ")}`);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    check(overflow <= 0, `${at}: no horizontal overflow (${overflow} px)`);
    const cut = await page.evaluate(() => [...document.querySelectorAll(".scroll")].filter(s => s.scrollWidth > s.clientWidth + 1).length);
    check(cut === 0, `${at}: no table is cut off (${cut})`);
    const drawn = await page.locator("figure svg").evaluateAll(all => all.filter(svg => svg.getBoundingClientRect().height > 50).length);
    check(drawn === 4, `${at}: ${drawn} figures are drawn`);
    await page.screenshot({ path: `${page_file.replace(/\.html$/, "")}-${width}-${colorScheme}.png`, fullPage: true });
    await context.close();
  }
}
await browser.close();
process.exit(failures ? 1 : 0);
