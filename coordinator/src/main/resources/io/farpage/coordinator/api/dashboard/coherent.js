// Draws coherent spaces: what their homes do for their members, and the pages that members take from each other.
import {changed, element, fill, perSecond, status} from "./dom.js";

const part = id => document.getElementById(id);

/** The coherent spaces of the page of spaces. Their section is hidden while there are none. */
export function showCoherent(spaces) {
  part("coherent").hidden = !spaces.length;
  part("coherent-link").hidden = !spaces.length;
  showSharing(spaces);
  showBouncing(spaces);
}

const reported = homes => homes.flatMap(home => home.figures ?? []);
const rate = (figures, what) => figures.reduce((sum, one) => sum + 1000 * one[what] / one.millis, 0);
const total = (figures, what) => figures.reduce((sum, one) => sum + one[what], 0);

function showSharing(spaces) {
  const table = part("coherent-table");
  if (!changed(table, spaces)) {
    return;
  }
  fill(table, "What the homes of each coherent space have done for its members in the last 5 s",
    ["Space", "Members", "Homes", "Requests", "Recalls", "Invalidations", "Waiting", "Lost pages"],
    spaces.map(({space, members, homes}) => {
      const figures = reported(homes);
      const known = text => (figures.length ? text() : "–");
      return [space, membersOf(members, homes), homesOf(members, homes),
        known(() => perSecond(rate(figures, "requests"))), known(() => perSecond(rate(figures, "recalls"))),
        known(() => perSecond(rate(figures, "invalidations"))), known(() => total(figures, "waiting").toLocaleString("en")),
        known(() => lost(total(figures, "lostPages")))];
    }), "No coherent space of this name exists.");
}

const lost = count => (count ? status("lost", count.toLocaleString("en")) : 0);

function lines(items) {
  return element("div", {}, ...items.map(item => element("div", {}, item)));
}

/** A home serves no member before it has heard from each which pages it has. */
function membersOf(members, homes) {
  return members.length ? lines(members.map(node => {
    const silent = homes.filter(home => home.figures?.unheard.includes(node)).map(home => home.node);
    return silent.length ? status("unanswered", `${node}, not heard by ${silent.join(", ")}`) : node;
  })) : element("span", {class: "dim"}, "none");
}

/** Each home with its part of the requests, if there are several. */
function homesOf(members, homes) {
  return lines(homes.map(({node, figures}) => {
    if (!figures && members.length) {
      return status("unanswered", `${node}, not reported`);
    }
    return figures && homes.length > 1 ? `${node}, ${perSecond(rate([figures], "requests"))}` : node;
  }));
}

function showBouncing(spaces) {
  const table = part("bounce-table");
  const pages = spaces.flatMap(({space, homes}) => reported(homes).flatMap(one => one.bouncing.map(page => ({space, ...page}))));
  if (!changed(table, pages)) {
    return;
  }
  fill(table, "Pages that members take from each other most often, up to 8 of each home", ["Space", "Page", "Times taken", "Last from", "Last to"],
    pages.map(({space, page, taken, from, to}) => [space, page, taken.toLocaleString("en"), from, to]),
    "No member has taken a page from another.");
}
