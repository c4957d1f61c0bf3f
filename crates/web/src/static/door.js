// A link without the path of a device, as in a notification, leads on below the path that this browser was signed in with.
"use strict";
(() => {
  let home = null;
  try { home = localStorage.getItem("home"); } catch { /* without it, the words of the page say what to do */ }
  if (home && !location.pathname.startsWith("/d/")) location.replace(home + location.pathname + location.search + location.hash);
})();
