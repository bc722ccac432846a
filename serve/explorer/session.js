// Exchanges the code in the fragment, which no server and no log sees, for a cookie of this session.
"use strict";
const code = location.hash.slice(1);
const next = "/ask" + location.search;
history.replaceState(null, "", location.pathname);
if (!code) location.replace(next);
else fetch("/session", { method: "POST", headers: { Authorization: "Bearer " + code } }).then(
  (answer) => {
    if (answer.ok) location.replace(next);
    else document.getElementById("state").textContent =
      "This address was used before, or is not complete. Its session has ended: start repo view again.";
  },
);
