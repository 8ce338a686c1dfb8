import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** A server that runs on loopback. `close()` ends open sockets at once instead of waiting for their answers. */
export interface RunningServer {
  /** Without a slash at the end, e.g. `http://127.0.0.1:41234`. */
  url: string;
  port: number;
  close(): Promise<void>;
}

const HOST = '127.0.0.1';

/** Starts a fastify application on 127.0.0.1. Port 0 (the default) takes a free one. Throws when the port is taken. */
export async function listen(app: FastifyInstance, port = 0): Promise<RunningServer> {
  const endSockets = trackSockets(app.server);
  await app.listen({ host: HOST, port });
  return running(app.server, async () => {
    endSockets();
    await app.close();
  });
}

/** Starts a plain node server on 127.0.0.1. Port 0 (the default) takes a free one. Throws when the port is taken. */
export async function listenNode(server: Server, port = 0): Promise<RunningServer> {
  const endSockets = trackSockets(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, HOST, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return running(server, () => {
    endSockets();
    return new Promise((resolve) => server.close(() => resolve()));
  });
}

function running(server: Server, close: () => Promise<void>): RunningServer {
  const { port } = server.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  return {
    url: `http://${HOST}:${port}`,
    port,
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/** Returns a function that destroys every open socket, and each one that still arrives afterwards. */
function trackSockets(server: Server): () => void {
  const sockets = new Set<Socket>();
  let ending = false;
  server.on('connection', (socket: Socket) => {
    if (ending) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return function endSockets(): void {
    ending = true;
    for (const socket of sockets) {
      socket.destroy();
    }
  };
}
