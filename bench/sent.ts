/** A request that this process made. */
export interface Sent {
  method: string;
  url: string;
  headers: Headers;
  body: string | null;
}

/** The requests that something makes, as they were sent. */
export async function requestsOf(work: () => Promise<unknown>): Promise<Sent[]> {
  const { fetch } = globalThis;
  const sent: Promise<Sent>[] = [];
  globalThis.fetch = (input, init) => {
    sent.push(takeDown(new Request(input, init)));
    return fetch(input, init);
  };
  try {
    await work();
  } finally {
    globalThis.fetch = fetch;
  }
  return await Promise.all(sent);
}

async function takeDown(request: Request): Promise<Sent> {
  const { method, url, headers } = request;
  return { method, url, headers, body: request.body === null ? null : await request.text() };
}
