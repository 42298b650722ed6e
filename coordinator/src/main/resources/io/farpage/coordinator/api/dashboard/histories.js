// Keeps the figures of nodes or guests that the coordinator has sent, and asks for those that are new.
import {path, read} from "./coordinator.js";

const KEPT_SECONDS = 900;
const LISTS = ["at", "faultsPerSecond", "faultP50Ns", "faultP99Ns", "fetchP50Ns", "fetchP99Ns"];

/** The histories of one kind of thing, by name. */
export class Histories {
  #resource;
  #items;
  #name;
  #asked = "";
  #seen = 0;
  #all = new Map();

  /** `resource` answers with a list `items`, whose elements have a `name`. What else the last answer has is in `answer`. */
  constructor(resource, items, name) {
    this.#resource = resource;
    this.#items = items;
    this.#name = name;
    this.answer = undefined;
    this.now = 0;
    this.since = 0;
  }

  /** Asks for what is new; for all if other things are asked for than before. */
  async refresh(parameters) {
    const asked = JSON.stringify(parameters);
    if (asked !== this.#asked) {
      this.#seen = 0;
      this.#all = new Map();
    }
    const seen = this.#seen;
    const answer = await read(path(this.#resource, {...parameters, since: seen || ""}));
    this.#asked = asked;
    this.answer = answer;
    this.now = answer.now;
    this.since = answer.since;
    // Samples of the second in which the coordinator has answered may still come.
    this.#seen = Math.max(0, answer.now - 1);
    this.#all = new Map(answer[this.#items].map(item => [item[this.#name], {...item, history: this.#merged(item, seen)}]));
  }

  /** What is kept up to the time that was seen, and then the answer, which has all after that: a second may have two samples. */
  #merged(item, seen) {
    const before = this.#all.get(item[this.#name])?.history;
    const oldest = this.now - KEPT_SECONDS;
    const merged = Object.fromEntries(LISTS.map(list => [list, []]));
    for (const [source, until] of [[before, seen], [item.history, Infinity]]) {
      source?.at.forEach((at, i) => {
        if (at > oldest && at <= until) {
          LISTS.forEach(list => merged[list].push(source[list][i]));
        }
      });
    }
    return merged;
  }

  /** All of them, in the coordinator's order. */
  get all() {
    return [...this.#all.values()];
  }

  /** One of them; undefined if the coordinator has not sent it. */
  get(name) {
    return this.#all.get(name);
  }
}

/** The latest sample of a history, if it is not old; otherwise one without faults. */
export function latest(history, now) {
  const i = history.at.length - 1;
  const fresh = i >= 0 && now - history.at[i] <= 15;
  return Object.fromEntries(LISTS.map(list => [list, fresh ? history[list][i] : 0]));
}
