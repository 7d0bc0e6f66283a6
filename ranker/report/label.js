"use strict";
const part = id => document.getElementById(id);
let shown = null;  // what the server said last
let quoted = "";  // words of the row that were selected last
let spans = [];  // {first, last, type} among the tokens of the row that waits
const chosen = new Set();  // places of the tokens that are selected
let busy = false;  // a request is on its way: keys and clicks pressed meanwhile do not count

const GONE = "The program does not answer. It may have stopped: all answers that you saw accepted are saved. "
  + "Start it again, and open the address that it prints.";
const MOST_SHOWN = 80;  // characters of an answer in a sentence
const WRONG = "This page belongs to a session that has ended, or its address is not complete. Open the address that "
  + "the program prints.";

async function ask(path, body) {
  if (busy) return null;
  busy = true;
  document.body.setAttribute("aria-busy", "true");
  try {
    const headers = {authorization: `Bearer ${location.hash.slice(1)}`};
    const options = body ? {method: "POST", body: JSON.stringify(body)} : {};
    if (body) headers["content-type"] = "application/json";
    const reply = await fetch(path, {...options, headers, cache: "no-store", referrerPolicy: "same-origin"});
    if (reply.status === 403) return {problem: WRONG};
    return reply.ok || reply.status === 409 ? await reply.json() : {problem: await reply.text()};
  } catch {
    return {problem: GONE};
  } finally {
    busy = false;
    document.body.removeAttribute("aria-busy");
  }
}

async function refresh() {
  show(await ask("/state"), false);
}

async function change(action, label = "") {
  show(await ask("/change", {step: shown.step, action, label}), true);
}

function show(state, moves) {
  if (!state) return;
  part("message").textContent = state.problem || state.message || "";
  if (state.problem) return;
  const screen = said => said && JSON.stringify([said.row, said.ending, said.stopped]);
  const same = screen(shown) === screen(state);
  const revealed = Boolean(state.last && state.last.predictions);
  const news = revealed && !(shown && shown.step === state.step) && same;
  shown = state;
  const ended = !state.row;
  part("title").textContent = document.title = state.title;
  part("progress").textContent = (state.last ? `Your last answer: ${inSentence(state.last.label)} ` : "") + state.progress;
  part("asking").hidden = ended;
  part("end").hidden = !ended;
  part("more").hidden = state.stopped;
  part("reveal").disabled = !state.last;
  part("reveal").hidden = revealed || state.blind;
  part("stop").textContent = ended ? "Close the session" : "Stop for now";
  part("last").hidden = !revealed || state.stopped;
  part("leaders").replaceChildren();
  part("names").hidden = ended || state.blind;
  part("cannot-tell").hidden = state.labels.some(({key}) => key === part("cannot-tell").dataset.key);
  if (state.blind) part("how").textContent = "Which answer is whose is told at the end.";
  part("guide").hidden = !state.guidelines;
  part("guidelines").textContent = state.guidelines;
  part("annotator").textContent = `Answers are recorded as those of ${state.annotator || "nobody by name"}.`;
  if (revealed) showLast(state);
  if (ended) showEnd(state);
  else if (!same) showRow(state);
  for (const token of document.querySelectorAll("[name=token]")) token.value = location.hash.slice(1);
  showKeys();
  if (news) part("last-title").focus();
  else if (ended && !same) part("end-title").focus();
  else if (moves && !ended && !state.message) part("row-title").focus();
}

function showRow(state) {
  part("row-title").textContent = `${state.noun} ${state.row.number}`;
  quoted = "";
  showSegments(part("segments"), state.row.segments);
  part("differences").checked = false;
  showAnswers(state.row);
  part("labels").replaceChildren(...state.labels.map(({label, text, key}) =>
    button(text, key, () => change("answer", label))));
  part("boxes").hidden = !state.boxes.length;
  part("ticks").replaceChildren(...state.boxes.map(tick));
  const tokens = state.row.tokens;
  part("segments").hidden = Boolean(tokens.length);
  part("spans").hidden = !tokens.length;
  part("types").replaceChildren(...state.types.map(typeButton));
  showBox("writing", state.boxes.length || tokens.length ? {...state, hint: ""} : state);
  spans = [];
  chosen.clear();
  showTokens(tokens);
  scrollTo(0, 0);
}

function typeButton({label, text, key}) {
  return button(text, key, () => mark(label));
}

function addType() {
  const label = part("another").value.trim();
  part("another").value = "";
  if (!label) return;
  part("types").append(typeButton({label, text: label, key: ""}));
  part("types").lastChild.focus();
}

function runs(places) {
  const found = [];
  for (const place of [...places].sort((a, b) => a - b)) {
    if (found.length && found.at(-1).last === place - 1) found.at(-1).last = place;
    else found.push({first: place, last: place});
  }
  return found;
}

function placesOf({first, last}) {
  return Array.from({length: last - first + 1}, (_, number) => first + number);
}

function mark(type) {  // each run of selected tokens becomes a span, or none if the type is null
  part("message").textContent = chosen.size ? "" : "Select words first.";
  if (!chosen.size) return;
  const left = spans.flatMap(span =>
    runs(placesOf(span).filter(place => !chosen.has(place))).map(run => ({...run, type: span.type})));
  spans = type === null ? left : [...left, ...runs(chosen).map(run => ({...run, type}))];
  onbeforeunload = spans.length ? event => event.preventDefault() : null;
  const first = Math.min(...chosen);
  const typed = part("tokens").contains(document.activeElement);
  chosen.clear();
  getSelection().removeAllRanges();
  showTokens(shown.row.tokens, first);
  if (typed) focusToken(first);
}

function tags() {
  const tagged = shown.row.tokens.map(() => "O");
  for (const {first, last, type} of spans) {
    for (const place of placesOf({first, last})) {
      tagged[place] = (place === first ? "B" : "I") + (type ? `-${type}` : "");
    }
  }
  return tagged;
}

function showTokens(tokens, current = 0) {
  part("tokens").replaceChildren(...tokens.flatMap((token, place) => {
    const made = element("span", token);
    const span = spans.find(({first, last}) => first <= place && place <= last);
    made.setAttribute("role", "option");
    made.tabIndex = place === current ? 0 : -1;
    if (span) made.className = "tagged";
    if (span && span.last === place) made.append("\u00a0", element("small", span.type || "span"));
    return [made, " "];
  }));
  showChosen();
}

function showChosen() {
  [...part("tokens").children].forEach((token, place) => token.setAttribute("aria-selected", chosen.has(place)));
}

function toggle(place) {
  if (!chosen.delete(place)) chosen.add(place);
  focusToken(place);
  showChosen();
}

function focusToken(place) {
  [...part("tokens").children].forEach((token, number) => { token.tabIndex = number === place ? 0 : -1; });
  part("tokens").children[place].focus();
}

function tick({label, text, key}) {
  const made = document.createElement("label");
  const box = document.createElement("input");
  box.type = "checkbox";
  box.value = label;
  if (key) made.dataset.key = key;
  made.append(box, element("span", text));
  return made;
}

function showAnswers({answers, current}, sides = []) {
  part("reading").hidden = answers.length < 2;
  part("differ").hidden = answers.length !== 2;
  part("answers").replaceChildren(...answers.map(({title: name, nodes, text}, number) => {
    const made = document.createElement("section");
    const shown = element("div");
    made.className = current === number ? "answer asked" : "answer";
    const title = element("h3", name + (current === number ? ": your mark?" : ""));
    title.id = `answer-${number}`;
    made.setAttribute("aria-labelledby", title.id);
    if (sides.length || part("written").checked) {
      shown.className = "plain";
      const pieces = sides[number] || [{text, marked: false}];
      shown.append(...pieces.map(piece => piece.marked ? element("mark", piece.text) : piece.text));
    } else shown.append(...nodes.map(built));
    if (!text.trim()) shown.append(element("em", "(empty)"));
    made.append(title, shown);
    return made;
  }));
  for (const shown of part("answers").querySelectorAll(".answer > div")) {
    scrollable(shown);
    shown.addEventListener("scroll", () => scrollOthers(shown));
  }
  document.querySelector(".answer.asked")?.scrollIntoView({block: "nearest"});
}

function built(node) {
  if (typeof node === "string") return node;
  const made = document.createElement(node[0]);
  made.append(...node.slice(1).map(built));
  return made;
}

function scrollOthers(moved) {
  if (!part("together").checked || !moved.matches(":hover, :focus")) return;
  const share = moved.scrollTop / Math.max(moved.scrollHeight - moved.clientHeight, 1);
  for (const other of part("answers").querySelectorAll(".answer > div")) {
    if (other !== moved) other.scrollTop = share * (other.scrollHeight - other.clientHeight);
  }
}

function scrollable(text) {
  if (text.scrollHeight <= text.clientHeight && text.scrollWidth <= text.clientWidth) return;
  text.tabIndex = 0;  // the keyboard scrolls it
  text.setAttribute("role", "group");
  text.setAttribute("aria-label", "Long text");
}

async function showReading() {
  const {step, row} = shown;
  const sides = part("differences").checked ? await ask("/differences") : [];
  if (!sides || shown.step !== step) return;
  const unknown = part("differences").checked && !sides.length;
  part("message").textContent = sides.problem || (unknown ? "The answers are too long to mark where they differ." : "");
  showAnswers(row, sides.problem ? [] : sides);
}

function showEnd(state) {
  part("end-title").textContent = state.stopped ? "The session is closed" : state.verdict;
  part("ending").textContent = state.ending;
  part("order").replaceChildren(...state.order.map(line => element("li", line)));
  part("kept").textContent = state.kept;
  part("report").hidden = state.stopped;
}

function showLast(state) {
  const {label, changed_to, segments, predictions} = state.last;
  showSegments(part("last-segments"), segments);
  part("last-answer").textContent = `Your answer: ${label}` + (changed_to === label ? "" : `; now: ${changed_to}`);
  part("predictions").replaceChildren(...predictions.map(([model, said]) => element("li", `${model}: ${said}`)));
  part("looked").hidden = !state.askable;
  part("changes").replaceChildren(...state.labels.map(({label, text}) =>
    button(text, "", () => change("reveal", label))));
  showBox("rewriting", state);
}

function showBox(id, {hint, quotes}) {
  const box = part(id);
  box.hidden = !hint;
  box.querySelector(".hint").textContent = hint;
  box.querySelector(".quote").hidden = !quotes;
  box.elements[0].value = "";
  onbeforeunload = null;
}

function showSegments(place, segments) {
  place.replaceChildren(...segments.map(({name, pieces}) => {
    const segment = element("div");
    const text = element("p");
    segment.className = "segment";
    if (name) segment.append(element("h3", name));
    text.append(...pieces.map(piece => piece.marked ? element("mark", piece.text) : piece.text));
    segment.append(text);
    return segment;
  }));
  for (const text of place.querySelectorAll("p")) scrollable(text);
}

function inSentence(text) {
  if (text.length > MOST_SHOWN) return `${text.slice(0, MOST_SHOWN)}...`;
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function noteSelection() {
  const selection = getSelection();
  if (selection.isCollapsed) return;
  if (part("segments").contains(selection.anchorNode)) quoted = selection.toString();
  if (!part("tokens").contains(selection.anchorNode)) return;
  chosen.clear();
  [...part("tokens").children].forEach((token, place) => {
    if (selection.containsNode(token, true)) chosen.add(place);
  });
  showChosen();
}

function element(name, text = "") {
  const made = document.createElement(name);
  made.dir = "auto";
  made.textContent = text;
  return made;
}

function button(text, key, press) {
  const made = element("button", text);
  made.type = "button";
  if (key) made.dataset.key = key;
  made.addEventListener("click", press);
  return made;
}

function showKeys() {
  for (const pressed of document.querySelectorAll("[data-key]")) {
    pressed.querySelector("kbd")?.remove();
    pressed.removeAttribute("aria-keyshortcuts");
    if (!part("keys").checked) continue;
    const sign = element("kbd", pressed.dataset.key);
    sign.setAttribute("aria-hidden", "true");
    pressed.prepend(sign);
    pressed.setAttribute("aria-keyshortcuts", pressed.dataset.key);
  }
}

async function showNames() {
  const lines = await ask("/models");
  if (!lines) return;
  part("message").textContent = lines.problem || (lines.length ? "" : "No answer tells yet.");
  if (!lines.problem) part("leaders").replaceChildren(...lines.map(line => element("li", line)));
}

for (const [id, action] of [["writing", "answer"], ["rewriting", "reveal"]]) {
  const box = part(id);
  const text = box.elements[0];
  box.addEventListener("submit", event => {
    event.preventDefault();
    change(action, text.value);
  });
  text.addEventListener("input", () => {
    onbeforeunload = text.value.trim() ? event => event.preventDefault() : null;  // the browser asks before it is lost
  });
  text.addEventListener("keydown", event => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.repeat) box.requestSubmit();
    if (event.key === "Escape") part("row-title").focus();
  });
  const quote = box.querySelector(".quote");
  quote.addEventListener("mousedown", event => event.preventDefault());  // which would end the selection
  quote.addEventListener("click", () => {
    noteSelection();
    if (quoted) text.value = quoted;
    text.focus();
  });
}
document.addEventListener("selectionchange", noteSelection);
for (const pressed of document.querySelectorAll("[data-action]")) {
  pressed.addEventListener("click", () => change(pressed.dataset.action));
}
part("boxes").addEventListener("submit", event => {
  event.preventDefault();
  const ticked = [...part("ticks").querySelectorAll(":checked")].map(box => box.value);
  change("answer", JSON.stringify(ticked));
});
part("spans").addEventListener("submit", event => {
  event.preventDefault();
  onbeforeunload = null;
  change("answer", JSON.stringify(tags()));
});
part("tokens").addEventListener("click", event => {
  const place = [...part("tokens").children].indexOf(event.target.closest("[role=option]"));
  if (place < 0 || !getSelection().isCollapsed) return;
  toggle(place);
});
part("tokens").addEventListener("keydown", event => {
  const tokens = [...part("tokens").children];
  const place = tokens.indexOf(event.target);
  const moves = {ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: tokens.length - 1};
  const next = tokens[moves[event.key]];
  if (event.key === " ") toggle(place);
  else if (!next) return;
  else {
    if (event.shiftKey) [place, moves[event.key]].forEach(one => chosen.add(one));
    focusToken(moves[event.key]);
  }
  event.preventDefault();
  showChosen();
});
part("untag").addEventListener("click", () => mark(null));
part("add").addEventListener("click", addType);
part("another").addEventListener("keydown", event => {
  if (event.key !== "Enter") return;
  event.preventDefault();  // it would save the spans
  addType();
});
part("names").addEventListener("click", showNames);
part("keys").addEventListener("change", showKeys);
for (const id of ["written", "differences"]) part(id).addEventListener("change", showReading);
document.addEventListener("keydown", event => {
  if (event.target.matches("textarea, [type=text]") || !part("keys").checked || event.repeat || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  const pressed = [...document.querySelectorAll("[data-key]")].find(one =>
    one.dataset.key === event.key && !one.disabled && one.getClientRects().length);
  if (!pressed) return;
  event.preventDefault();
  pressed.click();
});
addEventListener("hashchange", refresh);
addEventListener("pageshow", event => { if (event.persisted) refresh(); });
document.addEventListener("visibilitychange", () => { if (!document.hidden && shown && !shown.stopped) refresh(); });
refresh();
