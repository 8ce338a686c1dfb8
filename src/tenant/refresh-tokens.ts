import type { Logger } from '../core/log/logger.ts';
import { asMirrorError } from '../core/model/errors.ts';
import type { Outages } from '../jobs/outages.ts';

/** Token refresh of one connection. */
export interface MaintainedLogin {
  connection: string;
  refreshIfDue(signal: AbortSignal): Promise<boolean>;
}

/** A tenant whose connections are refreshed. */
interface LoginOwner {
  id: string;
  log: Logger;
  outages: Pick<Outages, 'watch' | 'recordOther'>;
}

/**
 * Refreshes a tenant's due connections: before they expire, and idle ones so that the vendor keeps them valid. A failure does not delay the
 * others. The credential record shows required actions. A failure is logged as a warning when it begins or its code changes.
 */
export async function refreshTokens(
  logins: Iterable<MaintainedLogin>,
  tenant: LoginOwner,
  signal: AbortSignal,
): Promise<void> {
  for (const login of logins) {
    if (signal.aborted) return;
    await tenant.outages.watch(() => refresh(login, tenant, signal));
  }
}

async function refresh(
  { connection, refreshIfDue }: MaintainedLogin,
  { id, log, outages }: LoginOwner,
  signal: AbortSignal,
): Promise<void> {
  const other = { kind: 'connection', id: connection } as const;
  try {
    const refreshed = await refreshIfDue(signal);
    if (refreshed) log.info({ connection }, 'connection was refreshed');
    await outages.recordOther(id, other, null);
  } catch (thrown) {
    const error = asMirrorError(thrown);
    const { code, actor, status } = error;
    // The connection does not exist yet: the status reports this, and the log need not repeat it.
    if (code === 'not-connected') return;
    const { host, isNews } = await outages.recordOther(id, other, error);
    log[host === null && isNews ? 'warn' : 'debug'](
      { connection, code, actor, status, host },
      'connection could not be refreshed',
    );
  }
}
