// Exchanges the token in the fragment, which no server and no log sees, for a cookie of this session.
"use strict";
const token = location.hash.slice(1);
const next = "/ask" + location.search;
history.replaceState(null, "", location.pathname);
fetch("/session", { method: "POST", headers: { Authorization: "Bearer " + token } }).then(
  (answer) => {
    if (answer.ok) location.replace(next);
    else document.getElementById("state").textContent =
      "The token is missing or wrong. Open the address that repo view printed.";
  },
);
