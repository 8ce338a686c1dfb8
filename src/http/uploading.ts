import { once } from 'node:events';
import { type IncomingMessage, request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';
import { Readable } from 'node:stream';
import { headersOf, type PinnedAnswer } from './pinned.ts';

/** A request whose body is sent as it is read. */
export interface UploadRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  upload: AsyncIterable<Uint8Array>;
  signal: AbortSignal;
}

/**
 * Sends a stream, as fast as the other side reads. `fetch` would keep a copy of all of it: it clones every request that might be
 * redirected, and a cloned stream is held until both branches are read (https://fetch.spec.whatwg.org/#concept-body-clone).
 * @throws the error of node:http or of the stream
 */
export async function sendUpload({ method, url, headers, upload, signal }: UploadRequest): Promise<PinnedAnswer> {
  const send = url.startsWith('https:') ? overHttps : overHttp;
  const outgoing = send(url, { method, headers: { 'accept-encoding': 'identity', ...headers }, signal });
  const source = Readable.from(upload, { objectMode: false });
  source.on('error', (error) => outgoing.destroy(error));
  outgoing.on('close', () => source.destroy());
  source.pipe(outgoing);
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  // An answer may come before all was sent, such as a refusal; what goes wrong then shows where its body is read.
  outgoing.on('error', () => {});
  return { status: incoming.statusCode ?? 0, headers: headersOf(incoming), body: incoming };
}
