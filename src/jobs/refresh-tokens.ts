import type { Logger } from '../log/logger.ts';
import { asMirrorError } from '../model/errors.ts';
import { OUTAGE_CODES } from './outages.ts';

/** The upkeep of one login. */
export interface KeptLogin {
  connection: string;
  refreshIfDue(signal: AbortSignal): Promise<boolean>;
}

/**
 * Refreshes those of a tenant's logins that are due: ahead of their end, and idle ones so that they don't die. One that fails
 * keeps no other from its turn; what a person must do stands with the credential.
 */
export async function refreshTokens(logins: Iterable<KeptLogin>, log: Logger, signal: AbortSignal): Promise<void> {
  for (const login of logins) {
    if (signal.aborted) return;
    try {
      const refreshed = await login.refreshIfDue(signal);
      if (refreshed) log.info({ connection: login.connection }, 'a login was refreshed');
    } catch (error) {
      const { code, actor, status } = asMirrorError(error);
      // Nobody has logged in yet: status says so, the log need not repeat it.
      if (code === 'not-connected') continue;
      // While the server is away, whoever needs the login tells of that, once for all.
      log[OUTAGE_CODES.has(code) ? 'debug' : 'warn'](
        { connection: login.connection, code, actor, status },
        'a login could not be refreshed',
      );
    }
  }
}
