import type { LookupFunction } from 'node:net';
import { connect } from 'node:tls';
import { SECOND_MS } from '../model/time.ts';

const LOOK_TIMEOUT_MS = 5 * SECOND_MS;

/**
 * Returns the validity period of a server's certificate in epoch milliseconds, or null if the server presents no certificate in time. The
 * connection sends no data and trusts no data, and therefore also works with an expired certificate.
 * @param lookup resolves the server's host name
 */
export function lookAtCertificate(
  host: string,
  port: number,
  lookup: LookupFunction,
  signal: AbortSignal,
): Promise<{ beganAt: number; endsAt: number } | null> {
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port,
      lookup,
      servername: /[a-z]/i.test(host) ? host : '',
      rejectUnauthorized: false,
    });
    const end = (seen: { beganAt: number; endsAt: number } | null) => {
      signal.removeEventListener('abort', abort);
      socket.destroy();
      resolve(seen);
    };
    const abort = () => end(null);
    signal.addEventListener('abort', abort);
    socket.setTimeout(LOOK_TIMEOUT_MS, abort);
    socket.once('error', abort);
    socket.once('secureConnect', () => {
      const { valid_from: from, valid_to: to } = socket.getPeerCertificate();
      const [beganAt, endsAt] = [Date.parse(from), Date.parse(to)];
      end(Number.isNaN(beganAt) || Number.isNaN(endsAt) ? null : { beganAt, endsAt });
    });
  });
}
