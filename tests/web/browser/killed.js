// The server dies while it takes an answer.
"use strict";
const { assert, launch, person, run, signIn } = require("./lib.js");
const fs = require("fs");

const appears = async (path) => {
  while (!fs.existsSync(path)) await new Promise((done) => setTimeout(done, 20));
};

// How many bytes lie in the connections of a server's port that the server has not read.
const unread = (port) => {
  const rows = fs.readFileSync("/proc/net/tcp", "utf8").split("\n").slice(1).map((row) => row.trim().split(/\s+/));
  const number = (words) => parseInt(words.split(":")[1], 16);
  const open = rows.filter(([, local, , state]) => state === "01" && number(local) === Number(port));
  return open.reduce((sum, [, , , , queues]) => sum + number(queues), 0);
};

run(async ({ base, link, place, pid, folder }) => {
  const browser = await launch();
  const page = await person(browser, "phone");
  await signIn(page, base + link, "ann's phone");
  await page.goto(base + place);
  // The browser's own page about a server that is gone may interrupt a page that is asked for just then. So it is asked for again.
  const load = async () => {
    while (!(await page.goto(base + place).then(() => true, () => false))) await new Promise((done) => setTimeout(done, 200));
  };
  await page.getByText("One section", { exact: true }).click();
  await page.getByText("Add a note").click();
  await page.getByLabel("A note beside the answer").fill("as we said");
  // The page asks whether its server is there before it sends. The server dies after that.
  await page.route("**/here", (route) => route.fulfill({ body: "1" }));
  process.kill(pid, "SIGSTOP");
  const before = unread(new URL(base).port);
  const sent = page.waitForRequest((request) => request.method() === "POST" && request.isNavigationRequest());
  await page.getByRole("button", { name: "Send the answer" }).click({ noWaitAfter: true });
  await sent;
  // The form has left the browser, and lies before the server.
  while (unread(new URL(base).port) === before) await new Promise((done) => setTimeout(done, 20));
  process.kill(pid, "SIGKILL");
  fs.writeFileSync(folder + "/killed", "");
  await appears(folder + "/again");
  await page.unroute("**/here");
  // The draft is there, and is sent once more.
  await load();
  assert.ok(await page.getByRole("radio", { name: "merge" }).isChecked());
  assert.strictEqual(await page.getByLabel("A note beside the answer").inputValue(), "as we said");
  await page.getByRole("button", { name: "Send the answer" }).click();
  await page.waitForURL(/#outcome$/);
  // A person who presses the button of an old page is told what counts.
  await page.goBack();
  await load();
  assert.ok((await page.locator(".given").textContent()).includes("merge"));
  await browser.close();
});
