import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { MirrorError } from '../model/errors.ts';

/** An open port. */
export interface ListeningServer {
  /** The port that was taken. */
  port: number;
  /** Takes no new requests, lets those under way end, and cuts them off after the deadline. */
  close(deadlineMs: number): Promise<void>;
}

/**
 * Opens a port.
 * @param section of the settings that names the address
 * @param address.port 0 takes a free one
 * @throws MirrorError `settings` when the address can't be had; the operator must act
 */
export async function listen(
  built: Promise<FastifyInstance>,
  section: 'http' | 'operator',
  address: { host: string; port: number },
): Promise<ListeningServer> {
  const app = await built;
  try {
    // A copy: the server writes into what it is given, and settings are frozen.
    await app.listen({ host: address.host, port: address.port });
  } catch (error) {
    const { host, port } = address;
    throw new MirrorError(`the port of ${section} could not be opened: ${host}:${port} ${whyNot(error)}`, {
      actor: 'settings',
      code: 'http-port-unavailable',
      retry: 'never',
      remedy: `choose another ${section}.host or ${section}.port in clinic-mirror.yaml, or end the process that holds the port: it may be a daemon of this configuration`,
      cause: error,
    });
  }
  const { port } = app.server.address() as AddressInfo;
  return { port, close: (deadlineMs) => closeWithin(app, deadlineMs) };
}

/** What the system says when an address can't be had. @see errno(3) */
const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is taken by another process',
  EACCES: 'is kept for users with more rights',
  EADDRNOTAVAIL: 'is no address of this machine',
};

function whyNot(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return REASONS[code] ?? `(${code})`;
}

async function closeWithin(app: FastifyInstance, deadlineMs: number): Promise<void> {
  const cutOff = setTimeout(() => app.server.closeAllConnections(), deadlineMs);
  try {
    await app.close();
  } finally {
    clearTimeout(cutOff);
  }
}
