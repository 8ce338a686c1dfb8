import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import type { Logger } from '../core/log/logger.ts';
import type { Principal } from '../core/model/acts.ts';
import { derivedKey } from '../core/model/hashes.ts';
import type { Clock } from '../core/model/time.ts';
import { type ActServices, recordEntry } from '../operator/control/recording.ts';
import { strictestApprovals } from '../settings/access-schema.ts';
import { type Configuration, uncheckedError } from '../settings/configuration.ts';
import type { Settings } from '../settings/settings-schema.ts';
import { createApprovalStore } from '../state/stored-documents.ts';
import type { Stores } from './stores.ts';

/** Destination of audit lines, one JSON object each with `audit: true`. */
export interface ActLines {
  write(line: string): unknown;
}

/**
 * Opens the recording and authorisation of actions.
 * @param current returns the current configuration
 * @param lines for actions without an audit log
 */
export function openActServices(
  current: () => Configuration,
  { redis, auditLog }: Pick<Stores, 'redis' | 'auditLog'>,
  clock: Clock,
  lines: ActLines,
): ActServices {
  const identityKey = current().settings.secrets.identityKey.reveal();
  return {
    log: auditLog,
    announce: (draft) =>
      void lines.write(`${JSON.stringify({ audit: true, time: new Date(clock()).toISOString(), ...draft })}\n`),
    get reasonFor() {
      return current().settings.auditLog.reasonFor;
    },
    approvalsOf(tenant) {
      return {
        // Requires the tenant's file.
        get policy() {
          const { settings, tenants, unchecked } = current();
          if (unchecked.has(tenant)) throw uncheckedError(tenant);
          return strictestApprovals(settings.approvals, tenants.get(tenant)?.approvals);
        },
        store: createApprovalStore(redis, tenant, identityKey, clock),
      };
    },
    keyed(tenant, id) {
      const name = current().outlines.get(tenant)?.formerly ?? tenant;
      const key = derivedKey(identityKey, name, 'audit log ids');
      return createHmac('sha256', key()).update(id).digest('base64url').slice(0, 22);
    },
    clock,
  };
}

/** The kernel's value for a session without a sign-in (audit_loginuid, Linux: (uid_t) -1). */
const NO_LOGIN = 4_294_967_295;

/**
 * Returns the actor of this process: the user who signed in to the host, if the kernel knows (`/proc/self/loginuid`, which survives `su`
 * and `sudo`, and only root can change it), otherwise the user of the process.
 * @param claimed unverified name of the actor
 */
export async function principalOfProcess(claimed: string | null): Promise<Principal> {
  const { uid, username } = userOfProcess();
  const login = Number(await readFile('/proc/self/loginuid', 'utf8').catch(() => NO_LOGIN));
  const isLogin = Number.isInteger(login) && login !== NO_LOGIN;
  const id = isLogin ? `login:${login}` : `uid:${uid}`;
  const name = isLogin && login !== uid ? ((await nameOfUser(login)) ?? id) : username;
  return { kind: 'os-user', name, id, claimed };
}

/** Returns the daemon as an actor, with its system user. */
export function principalOfDaemon(): Principal {
  const { uid, username } = userOfProcess();
  return { kind: 'daemon', name: username, id: `daemon:${uid}`, claimed: null };
}

/** Any holder of a connection link. */
export const BROWSER: Principal = { kind: 'browser', name: 'browser', id: 'browser', claimed: null };

/** Records a change of the encryption keys, which are rotated in a file. If recording fails, the daemon continues and logs the failure. */
export async function recordSealingKeys(services: ActServices, { secrets }: Settings, log: Logger): Promise<void> {
  try {
    const sealingKeys = secrets.sealingKeys.map(({ id }) => id).join(' ');
    let before: unknown = null;
    for await (const { entry } of services.log?.read() ?? []) {
      if (entry?.verb === 'change-keys') before = entry.what.sealingKeys;
    }
    if (services.log === null || before === sealingKeys) return;
    const acting = { who: principalOfDaemon(), why: null, actServices: services };
    await recordEntry(acting, { verb: 'change-keys', tenant: null, what: { sealingKeys } }, { outcome: 'done' });
  } catch (error) {
    log.error({ error }, 'encryption keys in use could not be recorded in the audit log');
  }
}

/** A container's user possibly has no name. */
function userOfProcess(): { uid: number; username: string } {
  try {
    return userInfo();
  } catch {
    const uid = process.getuid?.() ?? -1;
    return { uid, username: `uid:${uid}` };
  }
}

/** Null for a user outside of this host's user list. */
async function nameOfUser(uid: number): Promise<string | null> {
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const fields = users.split('\n').map((line) => line.split(':'));
  return fields.find(([, , each]) => each === String(uid))?.[0] ?? null;
}
