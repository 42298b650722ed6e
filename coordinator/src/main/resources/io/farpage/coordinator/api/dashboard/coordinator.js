// Asks the coordinator, and puts what goes wrong in words.

/** Why there is no answer that can be shown: `status` is that of HTTP, 0 if there was no answer at all. */
export class Refusal extends Error {
  constructor(status, message, retrySeconds = 0) {
    super(message);
    this.status = status;
    this.retrySeconds = retrySeconds;
  }
}

const TOKEN = "token";

/** From now on requests show this token; the tab keeps it until it is closed. */
export function signIn(token) {
  sessionStorage.setItem(TOKEN, token);
}

/** Path and parameters; those that are empty are left out. */
export function path(resource, parameters) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== ""));
  return `/api/v1/${resource}?${query}`;
}

/** Reads JSON. Gives up after `seconds`. */
export async function read(from, seconds = 20) {
  const token = sessionStorage.getItem(TOKEN);
  let answer;
  try {
    answer = await fetch(from, {
      cache: "no-store",
      headers: token ? {Authorization: `Bearer ${token}`} : {},
      signal: AbortSignal.timeout(1000 * seconds),
    });
    if (answer.ok) {
      return await answer.json();
    }
  } catch (cause) {
    throw new Refusal(0, cause.name === "TimeoutError"
      ? `The coordinator has not answered ${from} within ${seconds} s.`
      : "The coordinator does not answer: it is stopped, or the network or its certificate keeps the browser away.");
  }
  throw await refusal(answer, token);
}

async function refusal(answer, token) {
  const problem = await answer.json().catch(() => ({}));
  const detail = problem.detail ?? `status ${answer.status}`;
  switch (answer.status) {
    case 401:
      return new Refusal(401, token
        ? `The coordinator refuses this token: ${detail}.`
        : "The coordinator needs an identity: choose a client certificate of the cluster's CA in the browser, or sign in with a token.");
    case 403:
      return new Refusal(403, `This identity may not see the cluster: ${detail}.`);
    case 429:
    case 503:
      return new Refusal(answer.status, `The coordinator cannot answer now: ${detail}.`, Number(answer.headers.get("Retry-After") ?? 0));
    default:
      return new Refusal(answer.status, `The coordinator answers with an error: ${detail}.`);
  }
}
