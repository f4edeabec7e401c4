// A menu of versions beside the title, if this build stands among others (docs/_ext/versions.py).
document$.subscribe(() => {
  const all = window.crankVersions, place = document.querySelector(".md-header__title");
  if (!all || all.length < 2 || document.getElementById("versions")) return;
  const base = JSON.parse(document.getElementById("__config").textContent).base;
  const own = new URL(`${base}/`, location).pathname.split("/").filter(Boolean).pop();
  const menu = document.createElement("select");
  menu.id = "versions";
  menu.setAttribute("aria-label", "Version");
  for (const version of all) menu.append(new Option(version, version, false, version === own));
  menu.addEventListener("change", () => { location.href = new URL(`${base}/../${menu.value}/index.html`, location); });
  place.after(menu);
});
