import type { Account } from '../model/credentials.ts';
import { MirrorError } from '../model/errors.ts';
import { SECOND_MS } from '../model/time.ts';
import { isNamed } from './accounts.ts';
import { notConnected } from './login-state.ts';
import { type ConnectionContext, credentialLease } from './store.ts';

/** A refresh under way is waited for this long. */
const LEASE_WAIT_MS = 75 * SECOND_MS;

/**
 * A person says that the connected account is the right one, by naming it, so that no account is accepted that nobody saw.
 * @param named its id or its address; `unknown` where the provider does not tell
 * @throws MirrorError `settings`, code `account-differs`, when it is not that of the login; `authorization`, code `not-connected`
 */
export async function confirmAccount(
  { connection, credentials, leases }: ConnectionContext,
  named: string,
  signal: AbortSignal,
): Promise<Account | null> {
  const lease = await leases.take(credentialLease(connection), LEASE_WAIT_MS, signal);
  try {
    const credential = await credentials.read(connection);
    if (credential === null) throw notConnected(connection);
    const { version, tokens } = credential;
    const { account = null } = tokens;
    if (!isNamed(account, named)) throw differs(connection);
    // The version stays, as the tokens do: a refresh that waits to be stored goes by it.
    const confirmed = { ...credential, tokens: { ...tokens, isUnconfirmed: false } };
    if (!(await credentials.write(lease, connection, version, confirmed))) throw differs(connection);
    return account;
  } finally {
    await lease.release().catch(() => {});
  }
}

function differs(connection: string): MirrorError {
  return new MirrorError(`the connection "${connection}" is not connected with that account`, {
    actor: 'settings',
    code: 'account-differs',
    retry: 'never',
    remedy: 'see whose it is with "clinic-mirror status": it may have changed since; write its id or its address',
  });
}
