import { message } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import { neededFirst } from './error-classes.ts';

/** The error of a connection that nobody has logged in to. */
export function notConnected(connection: string): MirrorError {
  return new MirrorError(message('connection-without-login', { connection }), {
    actor: 'authorization',
    code: 'not-connected',
    retry: 'never',
    remedy: message('log-in', { command: loginOf(connection) }),
  });
}

/** Code of a refusal that a second try must still confirm. */
export const REFUSAL_UNCONFIRMED = 'refusal-unconfirmed';

/** The error of a connection whose login was refused once, and is asked about again. @param waitMs until the second try */
export function refusalUnconfirmed(connection: string, waitMs: number): MirrorError {
  return new MirrorError(message('refusal-unconfirmed', { connection }), {
    actor: 'remote',
    code: REFUSAL_UNCONFIRMED,
    retry: 'later',
    retryAfterMs: waitMs,
    remedy: message('refusal-unconfirmed.remedy', { command: loginOf(connection) }),
  });
}

/**
 * The error of a connection whose login has ended; its code is the reason: `login-ended` (revoked, expired or replaced at the
 * provider), `refresh-answer-lost` (a refresh was cut off by a crash or the network, and the provider had replaced the token
 * by one that never arrived), `interaction-required`, `login-refused`, `no-refresh-token`, or what an administrator must set right
 * first: `account-inactive`, `address-restricted`, `application-not-approved`.
 */
export function loginEnded(connection: string, reason: string | null): MirrorError {
  const first = neededFirst(reason);
  const again = message('log-in-again', { command: loginOf(connection) });
  return new MirrorError(message('connection-login-ended', { connection }), {
    actor: 'authorization',
    code: reason ?? 'login-ended',
    retry: 'never',
    remedy: first === null ? again : message('oauth.first-then', { first, next: again }),
  });
}

function loginOf(connection: string): string {
  return `clinic-mirror login <tenant> ${connection}`;
}
