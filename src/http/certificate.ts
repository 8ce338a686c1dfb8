import type { LookupFunction } from 'node:net';
import { connect } from 'node:tls';
import { SECOND_MS } from '../model/time.ts';

/** Longest time for a look at one server. */
const LOOK_TIMEOUT_MS = 5 * SECOND_MS;

/**
 * From when to when a server's certificate counts, in epoch milliseconds; null where none is shown in time. Nothing is sent to the
 * server and nothing that it says is believed, so that one whose certificate has ended can be looked at too.
 * @param lookup says where the server is
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
