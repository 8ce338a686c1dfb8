import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type Fault, isWireFault, type WireFault } from './faults.ts';

const CAPTIVE_PORTAL =
  '<!doctype html><html><head><title>Guest network</title></head><body>Please log in.</body></html>';

/** Returns the body of a `status` fault without a body, in the vendor's shape. `path` includes the query. */
export type DefaultFaultBody = (status: number, path: string) => unknown;

/**
 * Plays wire faults on one exchange. Returns true when the request is answered or cut, so that the handler must not run;
 * after `lost-answer` and `cut-body` it returns false and what the handler then writes is lost or halved.
 */
export async function playFaults(
  faults: readonly Fault[],
  request: IncomingMessage,
  response: ServerResponse,
  defaultBody: DefaultFaultBody = plainBody,
): Promise<boolean> {
  for (const fault of faults) {
    if (isWireFault(fault) && (await play(fault, request, response, defaultBody))) {
      return true;
    }
  }
  return false;
}

async function play(
  fault: WireFault,
  request: IncomingMessage,
  response: ServerResponse,
  defaultBody: DefaultFaultBody,
): Promise<boolean> {
  switch (fault.kind) {
    case 'latency':
      await delay(fault.ms + Math.random() * (fault.jitterMs ?? 0));
      return false;
    case 'cut':
      request.socket.destroy();
      return true;
    case 'lost-answer':
      loseAnswer(response);
      return false;
    case 'cut-body':
      cutBody(response);
      return false;
    case 'status':
      await answer(
        request,
        response,
        fault.status,
        fault.headers ?? {},
        fault.body ?? defaultBody(fault.status, request.url ?? ''),
      );
      return true;
    case 'html':
      await answer(request, response, 200, { 'content-type': 'text/html; charset=utf-8' }, CAPTIVE_PORTAL);
      return true;
    case 'garbage':
      await answer(request, response, 200, { 'content-type': fault.contentType ?? 'application/json' }, fault.body);
      return true;
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: unknown,
): Promise<void> {
  await readToEnd(request);
  const isText = typeof body === 'string';
  const bytes = Buffer.from(isText ? body : JSON.stringify(body));
  const contentType = { 'content-type': isText ? 'text/plain; charset=utf-8' : 'application/json; charset=utf-8' };
  response.writeHead(status, { ...contentType, ...headers, 'content-length': bytes.length });
  response.end(bytes);
}

/** A client that is still sending must get the answer, not a reset. */
async function readToEnd(request: IncomingMessage): Promise<void> {
  if (request.readableEnded || request.destroyed) {
    return;
  }
  request.resume();
  await finished(request).catch(() => undefined);
}

function loseAnswer(response: ServerResponse): void {
  response.write = () => true;
  response.end = () => {
    response.socket?.destroy();
    return response;
  };
}

function cutBody(response: ServerResponse): void {
  const chunks: Buffer[] = [];
  const write = response.write.bind(response);
  function keep(chunk: unknown): void {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) {
      chunks.push(Buffer.from(chunk));
    }
  }
  response.write = (chunk: unknown) => {
    keep(chunk);
    return true;
  };
  response.end = (chunk?: unknown) => {
    keep(chunk);
    const body = Buffer.concat(chunks);
    if (!response.headersSent) {
      response.setHeader('content-length', body.length);
    }
    const half = body.subarray(0, Math.floor(body.length / 2));
    if (half.length === 0) {
      response.socket?.destroy();
    } else {
      write(half, () => response.socket?.destroy());
    }
    return response;
  };
}

function plainBody(status: number): unknown {
  return { status, message: 'fault injected by the sandbox' };
}
