// A real browser, driven by playwright. The test that runs a script gives it a JSON object in $GIVEN. The script prints what it found to
// standard output as JSON. A script that throws has failed.
"use strict";
const driver = process.env.ASKBOX_TEST_BROWSER_DRIVER;
const { chromium } = require(driver + "/playwright-core");
const assert = require("assert");

const given = JSON.parse(process.env.GIVEN || "{}");

// The sizes of a phone and of a desk.
const sizes = {
  phone: { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
  desk: { viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1 },
};

const launch = (more = []) =>
  chromium.launch({
    executablePath: process.env.ASKBOX_TEST_CHROMIUM || "/usr/bin/chromium",
    headless: true,
    chromiumSandbox: false,
    args: [
      "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", ...more,
    ],
  });

// A browser of its own, with the cookies and drafts of one person. Errors of the page's script, and requests that its policy refuses, fail
// the test.
const person = async (browser, size, more = {}) => {
  const context = await browser.newContext({ ...sizes[size], ...more });
  context.setDefaultTimeout(60000);
  const page = await context.newPage();
  page.complaints = [];
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on("console", (message) => {
    const text = message.text();
    // A reply of the server with another status than 200 is the script's business.
    if (message.type() === "error" && !text.startsWith("Failed to load resource")) page.complaints.push(text);
  });
  return page;
};

// Signs in with a link, as a person does.
const signIn = async (page, link, device) => {
  await page.goto(link);
  if (device) await page.getByLabel("A name for this device").fill(device);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL((url) => /^(\/d\/\w+)?\/$/.test(url.pathname));
  // A person follows the links of the device, so later addresses also get its path.
  const home = new URL(page.url()).pathname.slice(0, -1);
  const goto = page.goto.bind(page);
  page.goto = (url, ...more) => goto(new URL(url).origin === new URL(link).origin ? url.replace(/^(\w+:..[^/]+)\/(?!in\/)/, `$1${home}/`) : url, ...more);
  return home;
};

// The serious problems that axe-core finds.
const barriers = async (page) => {
  await page.evaluate(require("fs").readFileSync(driver + "/axe-core/axe.min.js", "utf8"));
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  const told = found.violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map((node) => node.html).join(" | ").slice(0, 300)}`);
  return { serious: told.filter((line) => /^(serious|critical)/.test(line)), all: told };
};

// Nothing sticks out, and what is pressed is large enough for a finger.
const layout = (page) =>
  page.evaluate(() => {
    const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
    const isShown = (element) => {
      const box = element.getBoundingClientRect();
      return box.width > 0 && box.height > 0 && getComputedStyle(element).visibility !== "hidden";
    };
    const target = (element) => (element.matches("input") && element.closest("label")) || element;
    const pressed = [...document.querySelectorAll("button, .button, nav a, summary, input:not([type=hidden]), textarea, .card h2 a")];
    const small = pressed.filter(isShown).map(target).filter((element) => {
      const box = element.matches(".card h2 a") ? element.closest(".card").getBoundingClientRect() : element.getBoundingClientRect();
      return box.height < 43.5;
    });
    return { wide, small: small.map((element) => element.outerHTML.slice(0, 120)) };
  });

// Runs a script.
const run = (act) =>
  act(given).then(
    (found) => {
      process.stdout.write(JSON.stringify(found ?? null) + "\n");
      process.exit(0);
    },
    (error) => {
      process.stderr.write(`${error.stack || error}\n`);
      process.exit(1);
    },
  );

module.exports = { assert, barriers, given, launch, layout, person, run, signIn, sizes };
