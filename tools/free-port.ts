import { createServer } from 'node:net';

const LOWEST = 18_080;
/** Outgoing connections are given ports from here on (ip(7), ip_local_port_range). */
const FIRST_EPHEMERAL = 32_768;
const TRIES = 1_000;

/**
 * Returns a port that is free on all addresses and outside the range of outgoing connections, for a server whose URL must be known before
 * its start. @throws Error if no port is free
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    // By chance, so that two that ask at once hardly get the same.
    const port = LOWEST + Math.floor(Math.random() * (FIRST_EPHEMERAL - LOWEST));
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '0.0.0.0', () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
  throw new Error('no port is free');
}

/** Starts a server on a free port. If another process took the port in the meantime, tries other ports, at most a few times. */
export async function onFreePort<Started>(start: (port: number) => Promise<Started>): Promise<Started> {
  for (let attemptsLeft = 4; ; attemptsLeft -= 1) {
    try {
      return await start(await freePort());
    } catch (error) {
      const isTaken = error instanceof Error && /address already in use/i.test(error.message);
      if (!isTaken || attemptsLeft === 0) throw error;
    }
  }
}
