import { WRONG_USER } from '../clinic/read/users.ts';
import type { ConnectionStatus } from '../control/installation.ts';
import type { OpenTenant } from '../jobs/tenant.ts';
import type { Credential } from '../model/credentials.ts';
import { asMirrorError, MirrorError } from '../model/errors.ts';
import { missingScopes } from '../oauth/scopes.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import type { CredentialStore } from '../state/credentials.ts';
import type { RunReport } from '../state/runs.ts';
import type { OpenConnection } from './open-connection.ts';

/** Where each login of a tenant stands; none for a tenant that is not run. */
export async function connectionStatuses(
  composed:
    | {
        connections: ReadonlyMap<string, OpenConnection>;
        credentials: CredentialStore;
        tenant: Pick<OpenTenant, 'runs'>;
      }
    | undefined,
): Promise<ConnectionStatus[]> {
  if (composed === undefined) return [];
  const [lastRun] = await composed.tenant.runs.list(1);
  return Promise.all(
    [...composed.connections.values()].map(async ({ id, kind, scopes, tokens }) => {
      const untouched = tokens === null ? ('static' as const) : ('never' as const);
      const read = tokens === null ? null : await composed.credentials.read(id).catch(asMirrorError);
      // One login that can't be read (its sealing key is gone) must not hide how all the others stand.
      const unreadable = read instanceof MirrorError ? read : null;
      const credential = read instanceof MirrorError ? null : read;
      const tenantless = id === CLINIC_CONNECTION ? tenantFailure(lastRun, credential) : null;
      const told = tenantless === null ? (credential?.state ?? untouched) : ('no-tenant' as const);
      return {
        connection: id,
        kind,
        state: unreadable === null ? told : ('needs-login' as const),
        reason: unreadable?.code ?? tenantless ?? credential?.reason ?? null,
        sinceAt: credential?.since ?? null,
        accessExpiresAt: credential?.accessExpiresAt ?? null,
        refreshExpiresAt: credential?.refreshExpiresAt ?? null,
        missingScopes: credential === null ? [] : missingScopes(scopes, credential.grantedScopes),
      };
    }),
  );
}

/** Why the clinic's login is of no use although the clinic takes it, by the last cycle since it was made; null when it is. */
function tenantFailure(lastRun: RunReport | undefined, credential: Credential | null): string | null {
  if (lastRun?.error == null || credential === null || lastRun.startedAt < credential.obtainedAt) return null;
  const { code } = lastRun.error;
  return WRONG_USER.has(code) || code === 'tenant-choice' ? code : null;
}
