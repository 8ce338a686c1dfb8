import { asMirrorError } from '../model/errors.ts';
import type { OpenTenant } from './tenant.ts';

/** The upkeep of one login. */
export interface MaintainedLogin {
  connection: string;
  refreshIfDue(signal: AbortSignal): Promise<boolean>;
}

/**
 * Refreshes those of a tenant's logins that are due: ahead of their end, and idle ones so that they don't die. One that fails
 * keeps no other from its turn; what a person must do stands with the credential. A failure is a warning when it begins or its code changes.
 */
export async function refreshTokens(
  logins: Iterable<MaintainedLogin>,
  tenant: Pick<OpenTenant, 'id' | 'log' | 'outages'>,
  signal: AbortSignal,
): Promise<void> {
  for (const login of logins) {
    if (signal.aborted) return;
    await tenant.outages.watch(() => refresh(login, tenant, signal));
  }
}

async function refresh(
  { connection, refreshIfDue }: MaintainedLogin,
  { id, log, outages }: Pick<OpenTenant, 'id' | 'log' | 'outages'>,
  signal: AbortSignal,
): Promise<void> {
  const other = { kind: 'connection', id: connection } as const;
  try {
    const refreshed = await refreshIfDue(signal);
    if (refreshed) log.info({ connection }, 'a login was refreshed');
    await outages.recordOther(id, other, null);
  } catch (thrown) {
    const error = asMirrorError(thrown);
    const { code, actor, status } = error;
    // Nobody has logged in yet: status says so, the log need not repeat it.
    if (code === 'not-connected') return;
    const { host, isNews } = await outages.recordOther(id, other, error);
    log[host === null && isNews ? 'warn' : 'debug'](
      { connection, code, actor, status, host },
      'a login could not be refreshed',
    );
  }
}
