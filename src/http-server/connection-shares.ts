import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { type IsTrusted, networkOf, peerOf, plainAddress } from './caller.ts';

/** How many connections a port takes, and how they are shared. */
export interface ConnectionShares {
  /** Further connections are closed at once: a client that opens thousands leaves memory and file handles to the daemon's own work. */
  mostConnections: number;
  /** Of one peer, unless it is a trusted proxy; and requests in work of one client behind such a proxy. */
  mostOfPeer: number;
  /** Above `mostConnections`, for peers that hold none: probes and scrapes get an answer while others fill the port. */
  reserved: number;
}

/** Seconds after which a client that holds its whole share asks again. */
const RETRY_AFTER_SECONDS = 1;

/** Limits what one peer, and one client behind a trusted proxy, can hold of a port. */
export function shareConnections(app: FastifyInstance, shares: ConnectionShares, isTrusted: IsTrusted): void {
  const { mostConnections, mostOfPeer, reserved } = shares;
  const connections = createCounts();
  // What a request is for is not known before it was read, so connections are refused by peer, before Node's own listener. Node's `maxConnections` is not
  // used: it counts refused connections until the system has closed them, so whoever is refused without end would take the places of others.
  app.server.prependListener('connection', (socket: Socket) => {
    const address = plainAddress(socket.remoteAddress ?? '');
    const peer = networkOf(address);
    const held = connections.of(peer);
    const isFull = connections.all() >= mostConnections + (held > 0 ? 0 : reserved);
    if (isFull || (held >= mostOfPeer && !isTrusted(address))) return void socket.destroy();
    connections.add(peer);
    socket.once('close', () => connections.remove(peer));
  });
  const requests = createCounts();
  // The share of a direct peer is that of its connections.
  app.addHook('onRequest', async (request, reply) => {
    if (!isTrusted(peerOf(request.raw))) return;
    const { caller } = request;
    if (requests.of(caller) >= mostOfPeer) {
      return reply.code(503).header('retry-after', RETRY_AFTER_SECONDS).send({ error: 'too-many-requests' });
    }
    requests.add(caller);
    reply.raw.once('close', () => requests.remove(caller));
  });
}

function createCounts() {
  const counts = new Map<string, number>();
  let all = 0;
  const of = (name: string) => counts.get(name) ?? 0;
  return {
    of,
    all: () => all,
    add(name: string): void {
      all += 1;
      counts.set(name, of(name) + 1);
    },
    remove(name: string): void {
      all -= 1;
      if (of(name) > 1) counts.set(name, of(name) - 1);
      else counts.delete(name);
    },
  };
}
