import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** A request as it came over the wire, kept even when a fault answered it. `at` is epoch ms. */
export interface RecordedRequest {
  at: number;
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Keeps the last requests while it is switched on. */
export class Recording {
  readonly #limit: number;
  #on = false;
  #requests: (Omit<RecordedRequest, 'body'> & { chunks: Buffer[] })[] = [];

  constructor(limit = 10_000) {
    this.#limit = limit;
  }

  get on(): boolean {
    return this.#on;
  }

  /** Switches recording on or off; recorded requests remain until `clear()`. */
  record(on: boolean): void {
    this.#on = on;
  }

  /** Oldest first. */
  recorded(): RecordedRequest[] {
    return this.#requests.map(({ chunks, ...request }) => ({
      ...request,
      body: Buffer.concat(chunks).toString('utf8'),
    }));
  }

  clear(): void {
    this.#requests = [];
  }

  /**
   * Notes a request and, as it arrives, its body. The body is taken where node's HTTP parser pushes it into the stream,
   * because a 'data' listener would make it flow before the handler listens.
   */
  note(request: IncomingMessage): void {
    if (!this.#on) {
      return;
    }
    const chunks: Buffer[] = [];
    this.#requests.push({
      at: Date.now(),
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      chunks,
    });
    if (this.#requests.length > this.#limit) {
      this.#requests.shift();
    }
    const push = request.push.bind(request);
    request.push = (chunk: unknown, encoding?: BufferEncoding) => {
      if (chunk instanceof Uint8Array) {
        chunks.push(Buffer.from(chunk));
      }
      return push(chunk, encoding);
    };
  }
}
