import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** Proxy of a server on loopback. It can stop all traffic without closing connections, like a firewall or a dead host. */
export interface SilentProxy {
  readonly port: number;
  /** Connections that were made through it. */
  readonly connections: number;
  /** From now on nothing passes, in either direction; connections stay open and new ones are taken. */
  fallSilent(): void;
  /** New connections pass again; earlier connections remain silent. */
  speak(): void;
}

/** Opens the proxy for one test. */
export async function startSilentProxy(port: number): Promise<SilentProxy> {
  const sockets = new Set<Socket>();
  let isSilent = false;
  let connections = 0;
  const server = createServer((near) => {
    connections += 1;
    const far = connect(port, '127.0.0.1');
    let isDead = isSilent;
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => {
        isDead ||= isSilent;
        if (!isDead) to.write(chunk);
      });
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        if (!isDead) to.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    port: (server.address() as { port: number }).port,
    get connections() {
      return connections;
    },
    fallSilent() {
      isSilent = true;
    },
    speak() {
      isSilent = false;
    },
  };
}
