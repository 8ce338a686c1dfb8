import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { type ActServices, recordEntry } from '../control/recording.ts';
import type { Logger } from '../log/logger.ts';
import type { Principal } from '../model/acts.ts';
import { derivedKey } from '../model/hashes.ts';
import type { Clock } from '../model/time.ts';
import { strictestApprovals } from '../settings/access-schema.ts';
import { type Configuration, uncheckedError } from '../settings/configuration.ts';
import type { Settings } from '../settings/settings-schema.ts';
import { createApprovalStore } from '../state/stored-documents.ts';
import type { Stores } from './stores.ts';

/** Where lines that tell of acts go, one JSON object each with `audit: true`. */
export interface ActLines {
  write(line: string): unknown;
}

/**
 * What acts are recorded with, and allowed by.
 * @param current gives the configuration that counts now
 * @param lines for acts where no audit log is kept
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
        // A tenant's file is read for it.
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

/** What the kernel says of a session that nobody logged in to (audit_loginuid, Linux: (uid_t) -1). */
const NO_LOGIN = 4_294_967_295;

/**
 * Who runs this process: who logged in to the machine, where the kernel knows it (`/proc/self/loginuid`; it stays through `su` and
 * `sudo`, and once it is set only root can change it), else the user of the process.
 * @param claimed the name that they give themselves
 */
export async function principalOfProcess(claimed: string | null): Promise<Principal> {
  const { uid, username } = userOfProcess();
  const login = Number(await readFile('/proc/self/loginuid', 'utf8').catch(() => NO_LOGIN));
  const isLogin = Number.isInteger(login) && login !== NO_LOGIN;
  const id = isLogin ? `login:${login}` : `uid:${uid}`;
  const name = isLogin && login !== uid ? ((await nameOfUser(login)) ?? id) : username;
  return { kind: 'os-user', name, id, claimed };
}

/** The daemon, by the user that it runs as. */
export function principalOfDaemon(): Principal {
  const { uid, username } = userOfProcess();
  return { kind: 'daemon', name: username, id: `daemon:${uid}`, claimed: null };
}

/** Whoever holds the link of a login. */
export const BROWSER: Principal = { kind: 'browser', name: 'browser', id: 'browser', claimed: null };

/**
 * Records that the sealing keys are others than when it was last said: whoever rotated them did so in a file. A daemon that can't record it runs all
 * the same: it is said in its log.
 */
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
    log.error({ error }, 'the audit log could not be told which sealing keys are used');
  }
}

/** A container's user may have no name. */
function userOfProcess(): { uid: number; username: string } {
  try {
    return userInfo();
  } catch {
    const uid = process.getuid?.() ?? -1;
    return { uid, username: `uid:${uid}` };
  }
}

/** Null for a user that this machine doesn't list itself. */
async function nameOfUser(uid: number): Promise<string | null> {
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const fields = users.split('\n').map((line) => line.split(':'));
  return fields.find(([, , each]) => each === String(uid))?.[0] ?? null;
}
