import type { Logger } from '../log/logger.ts';
import type { TokenSet } from '../model/credentials.ts';
import { asMirrorError } from '../model/errors.ts';
import { SECOND_MS } from '../model/time.ts';
import type { AuthorizationServer } from './server.ts';
import { type ConnectionContext, credentialLease } from './store.ts';

/** What became of the tokens at the provider: they are always forgotten here. */
export type Revocation = 'revoked' | 'not-supported' | 'failed' | 'nothing-to-revoke';

/** A refresh under way is waited for this long, so that what it brings is revoked too. */
const LEASE_WAIT_MS = 10 * SECOND_MS;

/**
 * Ends a login: revokes it at the provider as far as possible (the refresh token takes its access tokens with it)
 * and forgets it here whatever the provider says.
 * @param server null for a connection whose provider is no longer configured
 * @throws only when it can't be forgotten, since Redis is away
 * @see RFC 7009
 */
export async function disconnect(
  context: ConnectionContext,
  server: Pick<AuthorizationServer, 'revoke'> | null,
  log: Logger,
  signal: AbortSignal,
): Promise<Revocation> {
  const { connection, credentials, leases } = context;
  const lease = await leases.take(credentialLease(connection), LEASE_WAIT_MS, signal).catch(() => null);
  try {
    return await revokeStored(context, server, log, signal);
  } finally {
    await credentials.remove(connection);
    await lease?.release().catch(() => {});
  }
}

async function revokeStored(
  { connection, credentials }: ConnectionContext,
  server: Pick<AuthorizationServer, 'revoke'> | null,
  log: Logger,
  signal: AbortSignal,
): Promise<Revocation> {
  try {
    const credential = await credentials.read(connection);
    if (credential === null) return 'nothing-to-revoke';
    if (server === null) return 'not-supported';
    return (await server.revoke(mainToken(credential.tokens), signal)) ? 'revoked' : 'not-supported';
  } catch (error) {
    log.warn({ connection, code: asMirrorError(error).code }, 'the login could not be revoked at the provider');
    return 'failed';
  }
}

function mainToken({ refreshToken, accessToken }: TokenSet): string {
  return refreshToken ?? accessToken;
}
