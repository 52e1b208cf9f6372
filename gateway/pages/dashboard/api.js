// Calls to the gateway: its token, its cell, and its errors as one kind of error.

const TOKEN = "lockless-token";

// What the gateway, or the way to it, says against a call.
export class Problem extends Error {
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

export class Api {
  // Kept for this tab alone, and gone with it. Where storage is refused it lasts as long as the page.
  #token = null;
  cell = null;

  constructor() {
    try {
      this.#token = sessionStorage.getItem(TOKEN);
    } catch { /* as said above */ }
  }

  get hasToken() {
    return this.#token !== null;
  }

  setToken(token) {
    this.#token = token;
    try {
      if (token === null) sessionStorage.removeItem(TOKEN);
      else sessionStorage.setItem(TOKEN, token);
    } catch { /* as said above */ }
  }

  // The response itself, for what is read as it comes.
  async open(path, { method = "GET", body, headers = {}, signal } = {}) {
    const sent = { ...headers };
    if (this.#token) sent.Authorization = `Bearer ${this.#token}`;
    if (this.cell) sent["Lockless-Cell"] = this.cell;
    if (body !== undefined) sent["Content-Type"] = "application/json";
    let response;
    try {
      response = await fetch(path, { method, headers: sent, body: body && JSON.stringify(body), signal, cache: "no-store" });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Problem(0, "GATEWAY_AWAY", "the gateway does not answer");
    }
    if (response.ok) return response;
    const told = await response.json().catch(() => ({}));
    throw new Problem(response.status, told.code ?? "UNKNOWN", told.detail ?? `the gateway answered ${response.status}`);
  }

  async get(path, parameters = {}, signal) {
    const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== "" && value !== undefined));
    const response = await this.open(query.size > 0 ? `${path}?${query}` : path, { signal });
    return response.json();
  }

  async post(path, body, signal) {
    return (await this.open(path, { method: "POST", body, signal })).json();
  }

  // Many calls in one request; each gives what it answered, or null where it was refused.
  async batch(calls, signal) {
    if (calls.length === 0) return [];
    const body = { calls: calls.map(([name, given]) => ({ function: name, arguments: given })) };
    const { results } = await this.post("v1/batch", body, signal);
    return results.map(({ status, body: answer }) => (status === 200 ? answer : null));
  }
}

// A path with ids in it: at`v1/nodes/${id}`
export const at = (texts, ...ids) => texts.reduce((path, text, i) => path + encodeURIComponent(ids[i - 1]) + text);
