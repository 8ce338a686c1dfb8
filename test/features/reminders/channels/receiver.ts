import { createServer, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { SandboxKit } from '../../../../sandbox/kit/kit.ts';
import { listenNode } from '../../../../sandbox/kit/listen.ts';

/** A message as a receiver takes it: raw, to verify its signature. */
export interface TakenMessage {
  headers: IncomingHttpHeaders;
  body: string;
}

/** A receiver of webhooks on loopback, with faults. */
export async function startReceiver() {
  const kit = new SandboxKit();
  kit.recording.record(true);
  const taken: TakenMessage[] = [];
  const server = createServer(
    kit.wrap(async (request, response) => {
      const body = await text(request).catch(() => null);
      // Broken off in the middle: no message.
      if (body === null) return;
      taken.push({ headers: request.headers, body });
      response.writeHead(204).end();
    }),
  );
  const running = await listenNode(server);
  return { ...running, kit, taken };
}

/** A running receiver. */
export type Receiver = Awaited<ReturnType<typeof startReceiver>>;
