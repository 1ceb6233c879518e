// Requests to the server of this page. The token is in the fragment of the address, which no server gets, and then only in this tab.

const HEADER = "X-Kraken-Token";
const STORED = "kraken-token";
const FIRST_RETRY = 500;
const LAST_RETRY = 5000;

export class Refused extends Error {}

export function takeToken() {
  const found = /^#token=([0-9a-f]+)/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(STORED, found[1]);
    history.replaceState(null, "", "/#list");
  }
  return sessionStorage.getItem(STORED) !== null;
}

async function request(path, options = {}) {
  const headers = { [HEADER]: sessionStorage.getItem(STORED) ?? "" };
  const response = await fetch(path, { ...options, headers, cache: "no-store" });
  if (response.ok) return response;
  const why = await response.json().then((body) => body.error, () => response.statusText);
  if (response.status === 401) throw new Refused(why);
  throw new Error(why);
}

export async function get(path) {
  return (await request(path)).json();
}

export async function post(path, body) {
  return (await request(path, { method: "POST", body: JSON.stringify(body) })).json();
}

// The part of an address that names a resource.
export function address(key) {
  return key.split("/").map(encodeURIComponent).join("/");
}

// The namespace, group, kind and name of a key, as the server expects them in a body.
export function named(key) {
  const [namespace, group, kind, name] = key.split("/");
  return { namespace, group, kind, name };
}

// Reads the server-sent events until the token is refused. EventSource cannot send a header.
export async function follow(onUpdate, onState) {
  let delay = FIRST_RETRY;
  for (;;) {
    try {
      const response = await request("/api/live");
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      onState("live");
      delay = FIRST_RETRY;
      let text = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        text += value;
        for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
          const event = text.slice(0, end);
          text = text.slice(end + 2);
          if (event.startsWith("data: ")) onUpdate(JSON.parse(event.slice(6)));
        }
      }
    } catch (error) {
      if (error instanceof Refused) return onState("refused");
    }
    onState("lost");
    await new Promise((done) => { setTimeout(done, delay); });
    delay = Math.min(delay * 2, LAST_RETRY);
  }
}
