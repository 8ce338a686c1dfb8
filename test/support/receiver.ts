import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenNode } from '../../sandbox/kit/listen.ts';

/** A request that a receiver took. Header names are in lower case. */
export interface ReceivedRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Readonly<Record<string, string | undefined>>;
  body: string;
}

/** Answer of a receiver: 202 without a body by default. */
export interface ReceiverAnswer {
  status?: number;
  /** Sent as plain text. */
  text?: string;
}

/** A server on loopback that others post to. */
export interface Receiver {
  /** Without a slash at the end. */
  readonly url: string;
  /** All requests since the start or the last `forget`, in order of arrival. */
  readonly requests: readonly ReceivedRequest[];
  forget(): void;
  close(): Promise<void>;
}

/** Starts a receiver that records requests; `answer` may choose the response. */
export async function startReceiver(
  answer: (request: ReceivedRequest) => ReceiverAnswer = () => ({}),
): Promise<Receiver> {
  const requests: ReceivedRequest[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const request = await readRequest(incoming);
    requests.push(request);
    const { status = 202, text: said = '' } = answer(request);
    outgoing.writeHead(status, { 'content-type': 'text/plain' }).end(said);
  });
  const { url, close } = await listenNode(server);
  return {
    url,
    requests,
    forget: () => void requests.splice(0),
    close,
  };
}

async function readRequest(incoming: IncomingMessage): Promise<ReceivedRequest> {
  const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://receiver');
  const headers = Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
  return {
    method: incoming.method ?? '',
    path: pathname,
    query: searchParams,
    headers,
    body: await text(incoming),
  };
}
