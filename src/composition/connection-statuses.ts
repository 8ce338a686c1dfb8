import { WRONG_USER } from '../clinic/read/users.ts';
import type { ConnectionPause, ConnectionStatus } from '../control/installation.ts';
import type { OpenTenant } from '../jobs/tenant.ts';
import type { Credential } from '../model/credentials.ts';
import { asMirrorError, MirrorError } from '../model/errors.ts';
import type { Clock } from '../model/time.ts';
import { type AccountObjection, accountText, objectionTo } from '../oauth/accounts.ts';
import { missingScopes } from '../oauth/providers.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import type { BudgetShare } from '../state/budget.ts';
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
  confirmRefusalAfterMs: number,
  clock: Clock,
): Promise<ConnectionStatus[]> {
  if (composed === undefined) return [];
  const [lastRun] = await composed.tenant.runs.list(1);
  return Promise.all(
    [...composed.connections.values()].map(async ({ id, kind, scopes, tokens, user, budget }) => {
      const untouched = tokens === null ? ('static' as const) : ('never' as const);
      const read = tokens === null ? null : await composed.credentials.read(id).catch(asMirrorError);
      // One login that can't be read (its sealing key is gone) must not hide how all the others stand.
      const unreadable = read instanceof MirrorError ? read : null;
      const credential = read instanceof MirrorError ? null : read;
      const tenantless = id === CLINIC_CONNECTION ? tenantFailure(lastRun, credential) : null;
      const objection = credential === null ? null : objectionTo(credential.tokens, tokens?.login.expected ?? null);
      const credentialState =
        tenantless === null ? credentialStateOf(credential, untouched, objection) : ('no-tenant' as const);
      return {
        connection: id,
        kind,
        state: unreadable === null ? credentialState : ('needs-login' as const),
        reason: unreadable?.code ?? tenantless ?? reasonOf(credential, objection),
        account: credential === null ? user : accountText(credential.tokens.account ?? null),
        sinceAt: credential?.since ?? null,
        nextTryAt: credential?.refusedAt == null ? null : credential.refusedAt + confirmRefusalAfterMs,
        pause: await pauseOf(budget, clock),
        accessExpiresAt: credential?.accessExpiresAt ?? null,
        refreshExpiresAt: credential?.refreshExpiresAt ?? null,
        isEndFixed: credential?.isEndFixed ?? false,
        obtainedAt: credential?.obtainedAt ?? null,
        usedAt: credential === null ? null : (credential.refreshedAt ?? credential.obtainedAt),
        missingScopes: credential === null ? [] : missingScopes(scopes, credential.grantedScopes),
      };
    }),
  );
}

async function pauseOf(budget: BudgetShare | null, clock: Clock): Promise<ConnectionPause | null> {
  const pause = (await budget?.pause()) ?? null;
  if (pause === null) return null;
  const now = clock();
  const code = pause.isOfAll ? 'client-rate-limited' : 'rate-limited';
  return { code, sinceAt: now - pause.lastedMs, untilAt: now + pause.leftMs };
}

/** A login that works and may not be used is told by what stands against it. */
function credentialStateOf<Untouched extends string>(
  credential: Credential | null,
  untouched: Untouched,
  objection: AccountObjection | null,
) {
  if (credential === null) return untouched;
  if (credential.state === 'connected' && objection === null && isRetried(credential)) return 'retrying' as const;
  if (credential.state === 'needs-login' || objection === null) return credential.state;
  return objection === 'account-unconfirmed' ? ('unconfirmed' as const) : ('needs-login' as const);
}

/** The provider refused the login once, and is asked again. */
function isRetried({ refusedAt = null }: Credential): boolean {
  return refusedAt !== null;
}

function reasonOf(credential: Credential | null, objection: AccountObjection | null): string | null {
  return credential?.state === 'connected' ? (objection ?? credential.reason) : (credential?.reason ?? null);
}

/** Why the clinic's login is of no use although the clinic takes it, by the last cycle since it was made; null when it is. */
function tenantFailure(lastRun: RunReport | undefined, credential: Credential | null): string | null {
  if (lastRun?.error == null || credential === null || lastRun.startedAt < credential.obtainedAt) return null;
  const { code } = lastRun.error;
  return WRONG_USER.has(code) || code === 'tenant-choice' ? code : null;
}
