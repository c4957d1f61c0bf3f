// Every page, with axe-core, in light and dark, on the phone and at the desk.
"use strict";
const { barriers, launch, layout, person, run, signIn } = require("./lib.js");

run(async ({ base, links, unused, paths, near, folder }) => {
  const browser = await launch();
  const found = {};
  for (const [size, colorScheme] of [["phone", "light"], ["desk", "dark"]]) {
    const page = await person(browser, size, { colorScheme, reducedMotion: "reduce" });
    const look = async (name) => {
      const { wide, small } = await layout(page);
      const { serious } = await barriers(page);
      const told = [...serious, ...(wide ? ["sticks out"] : []), ...small.map((element) => `small: ${element}`)];
      if (told.length) found[`${size} ${colorScheme} ${name}`] = told;
      if (folder) await page.screenshot({ path: `${folder}/${name.replace(/\W+/g, "-")}-${size}.png`, fullPage: true, animations: "disabled" });
    };
    await page.goto(base + "/");
    await look("missing");
    await page.goto(base + unused);
    await look("sign-in");
    await signIn(page, base + links.pop(), "desk");
    for (const path of paths) {
      await page.goto(base + path);
      await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
      await look(path);
    }
    // A form that comes back.
    await page.goto(base + near);
    await page.getByRole("textbox", { name: "Your own words" }).fill("mrege");
    await page.getByRole("button", { name: "Send the answer" }).click();
    await page.getByText("Is this one of the options?").waitFor();
    await look("near miss");
    await page.context().close();
  }
  await browser.close();
  return found;
});
