// A person signs in, sees a question, answers it in two taps, and follows the answer to its result.
"use strict";
const { assert, barriers, launch, layout, person, run, signIn } = require("./lib.js");

run(async ({ base, link, size, scripting, hostRules, secure }) => {
  const browser = await launch(hostRules ? [`--host-resolver-rules=${hostRules}`] : []);
  const page = await person(browser, size, { javaScriptEnabled: scripting, ignoreHTTPSErrors: Boolean(secure) });
  await page.goto(base + "/");
  assert.strictEqual(await page.getByRole("heading", { level: 1 }).textContent(), "Not signed in");
  await signIn(page, base + link, "ann's phone");
  const [cookie] = await page.context().cookies();
  const { name, httpOnly, sameSite } = cookie;
  const { port } = new URL(base);
  const wanted = (secure ? "__Secure-askbox" : "askbox") + (port && `-${port}`);
  assert.deepStrictEqual([name, httpOnly, sameSite, cookie.secure], [wanted, true, "Strict", Boolean(secure)]);
  const looks = [await layout(page)];
  await page.getByRole("link", { name: "Merge the two sections?" }).click();
  assert.strictEqual(await page.locator("h1").textContent(), "Merge the two sections?");
  looks.push(await layout(page));
  if (scripting) looks.push((await barriers(page)).serious);
  // Two taps.
  await page.getByText("One section", { exact: true }).click();
  await page.getByRole("button", { name: "Send the answer" }).click();
  await page.waitForURL(/#outcome$/);
  // A screen reader goes on at the heading.
  if (scripting) assert.strictEqual(await page.evaluate(() => document.activeElement.id), "outcome");
  assert.ok((await page.locator(".given").textContent()).includes("merge"));
  await page.locator(".steps li.done").first().waitFor();
  process.stderr.write("answered\n");
  // By itself: the script hears of it, or the page asks for itself again every five seconds.
  await page.locator(".mark, .steps li.done .step").filter({ hasText: "delivered" }).waitFor();
  await page.getByText("did docs").first().waitFor();
  looks.push(await layout(page));
  await page.getByRole("link", { name: "What the run does" }).click();
  await page.getByRole("heading", { name: "Events" }).waitFor();
  assert.ok((await page.locator(".events li").count()) > 1);
  await page.getByRole("link", { name: "Done" }).click();
  await page.getByRole("link", { name: "Merge the two sections?" }).waitFor();
  assert.deepStrictEqual(page.complaints, []);
  await browser.close();
  return looks;
});
