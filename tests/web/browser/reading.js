// A long question on a phone: its table, its list, the way to its answer, and Ctrl+Enter.
"use strict";
const { assert, barriers, launch, layout, person, run, signIn } = require("./lib.js");

run(async ({ base, link, long, back }) => {
  const browser = await launch();
  const page = await person(browser, "phone");
  await signIn(page, base + link, "ann's phone");
  await page.goto(base + long);
  assert.strictEqual(await page.locator(".context ul").evaluate((list) => getComputedStyle(list).direction), "rtl");
  assert.strictEqual(await page.locator(".context p").first().evaluate((text) => getComputedStyle(text).direction), "ltr");
  // The table scrolls in its box, its words are whole, and the page stays as wide as the phone.
  const table = await page.locator(".wide").evaluate((box) => [box.scrollWidth > box.clientWidth, box.querySelector("td").clientHeight]);
  assert.ok(table[0] && table[1] < 45, String(table));
  assert.deepStrictEqual(await layout(page), { wide: false, small: [] });
  assert.deepStrictEqual((await barriers(page)).serious, []);
  await page.getByRole("link", { name: "Go to the answer" }).click();
  await page.waitForFunction(() => document.querySelector("#answer").getBoundingClientRect().top < innerHeight / 2);
  // Keys outside of a text send nothing. In one, they press the button once it is in sight.
  await page.keyboard.press("Control+Enter");
  const words = page.getByRole("textbox", { name: "Your own words" });
  await words.fill("not yet");
  const send = page.getByRole("button", { name: "Send the answer" });
  await page.evaluate(() => (document.querySelector("main").style.paddingBottom = "200vh"));
  await words.evaluate((field) => window.scrollTo(0, field.getBoundingClientRect().bottom + scrollY - innerHeight));
  await words.press("Control+Enter");
  assert.ok(page.url().endsWith(long + "#answer"));
  assert.strictEqual(await page.evaluate(() => document.activeElement.textContent), "Send the answer");
  assert.ok((await send.boundingBox()).y < 740);
  await words.evaluate((field) => field.focus({ preventScroll: true }));
  await page.keyboard.press("Control+Enter");
  await page.waitForURL(/#outcome$/);
  // Ctrl+Enter in the question to the agent asks back.
  await page.goto(base + back);
  await page.getByText("Ask back first").click();
  await page.getByLabel("Your question to the agent").fill("Which branch?");
  await page.getByRole("button", { name: "Ask back" }).scrollIntoViewIfNeeded();
  await page.getByLabel("Your question to the agent").press("Control+Enter");
  await page.waitForURL(/#outcome$/);
  assert.deepStrictEqual(page.complaints, []);
  await browser.close();
});
