import { createServer } from 'node:net';

const LOWEST = 18_080;
/** Outgoing connections are given ports from here on (ip(7), ip_local_port_range). */
const FIRST_EPHEMERAL = 32_768;
const TRIES = 1_000;

/**
 * A port that is free now on all addresses, and that no outgoing connection is given meanwhile: for a server whose address must be
 * known before it starts. @throws Error when none is found
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

/** Starts what listens on a free port; on another one where somebody took the port meanwhile, a few times. */
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
