import { channel } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';

/** A request that this process made. */
export interface Sent {
  method: string;
  url: string;
  headers: Headers;
  body: string | null;
}

/** Records the requests of some work. They are analysed afterwards, to keep the overhead small. */
export async function requestsOf(work: () => Promise<unknown>): Promise<Sent[]> {
  const sent: [request: ClientRequest, body: unknown][] = [];
  const created = channel('http.client.request.created');
  const note = (message: unknown) => {
    const { request } = message as { request: ClientRequest };
    const { end } = request;
    request.end = (...given: unknown[]) => {
      sent.push([request, given[0]]);
      return Reflect.apply(end, request, given);
    };
  };
  created.subscribe(note);
  try {
    await work();
  } finally {
    created.unsubscribe(note);
  }
  return sent.map(([request, body]) => takeDown(request, body));
}

/** @param body text or bytes in UTF-8 */
function takeDown(request: ClientRequest, body: unknown): Sent {
  const { method, protocol, path } = request;
  const headers = new Headers(Object.entries(request.getHeaders()).map(([name, value]) => [name, String(value)]));
  const url = `${protocol}//${headers.get('host')}${path}`;
  // The repeating client sets these headers itself.
  for (const name of ['host', 'content-length']) headers.delete(name);
  const text = body instanceof Uint8Array ? Buffer.from(body).toString() : body;
  return { method, url, headers, body: typeof text === 'string' ? text : null };
}
