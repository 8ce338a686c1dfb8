/** A request that this process made. */
export interface Sent {
  method: string;
  url: string;
  headers: Headers;
  body: string | null;
}

/** The requests that something makes. They are looked at when it is done, so that it costs hardly more than without. */
export async function requestsOf(work: () => Promise<unknown>): Promise<Sent[]> {
  const { fetch } = globalThis;
  const sent: Parameters<typeof fetch>[] = [];
  globalThis.fetch = (...request) => {
    sent.push(request);
    return fetch(...request);
  };
  try {
    await work();
  } finally {
    globalThis.fetch = fetch;
  }
  return await Promise.all(sent.map(([input, init]) => takeDown(new Request(input, { ...init, signal: null }))));
}

async function takeDown(request: Request): Promise<Sent> {
  const { method, url, headers } = request;
  return { method, url, headers, body: request.body === null ? null : await request.text() };
}
