import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ACT_VERBS, type ActFacts, type ActVerb } from '../../../src/core/model/acts.ts';
import { decideHold } from '../../../src/features/holds/decide.ts';
import { managedTenantKeys } from '../../../src/features/managed-tenants/keys.ts';
import type { ConfigurationServices } from '../../../src/features/managed-tenants/managed-tenants.ts';
import { toMatchFile } from '../../../src/features/match/file.ts';
import { OPERATIONS } from '../../../src/features/operations.ts';
import type { AccessServices } from '../../../src/operator/control/access.ts';
import * as acts from '../../../src/operator/control/acts.ts';
import type { LoginServices } from '../../../src/operator/control/logins.ts';
import { storePlan } from '../../../src/operator/control/plan.ts';
import type { Acting } from '../../../src/operator/control/recording.ts';
import { connect, NEVER, TENANT } from '../../oauth/connection.ts';
import { useRedis } from '../../support/redis.ts';
import { contextWith } from '../operations/run-operation.ts';
import { accessSettings, openAccessWorld, openActing, person } from './acting.ts';
import { openConfigurations } from './open-configurations.ts';
import { openInstallation } from './open-installation.ts';
import { openActsClinic, openActsLogins, openActsWorld, openTriggerInstallation, PATIENT } from './services-world.ts';

const redis = useRedis();
const QUIET = () => {};
const CONNECTION = 'clinic';
const LOGIN = { tenant: TENANT, connection: CONNECTION };
const ADDRESS = '333-1234567';

/** An action, with the records expected in the log. */
interface Given {
  act(acting: Acting): Promise<unknown>;
  what?: ActFacts;
  /** Further facts in the record of the action's end. */
  facts?: ActFacts;
  /** Null for an action without a tenant. */
  tenant?: string | null;
}
/** One for each verb: a new verb must define its expected records here. */
type GivenByVerb<Verb extends ActVerb = ActVerb> = Readonly<Record<Verb, () => Promise<Given>>>;

const world = () => openActsWorld(redis.connect());
const NO_TENANTS = openInstallation({ tenants: [] });
const withLogins = (desk: LoginServices, acting: Acting) =>
  contextWith({ installation: NO_TENANTS, acting, logins: async () => desk });
const withAccess = (desk: AccessServices, acting: Acting) =>
  contextWith({ installation: NO_TENANTS, acting, access: async () => desk });
const withConfigurations = (desk: ConfigurationServices, acting: Acting) =>
  contextWith({ installation: NO_TENANTS, acting, configurations: async () => desk });
const logins = () => openActsLogins(() => redis.connect());
/** A hash under the tenant's key, as the desk makes it. */
const keyed = (id: string) => openActing().actServices.keyed(TENANT, id);

async function decided(decision: 'approved' | 'rejected'): Promise<Given> {
  const { installation, heldRun } = await world();
  const { id: hold, target, kind, recordIds } = await heldRun();
  return {
    act: (acting) => decideHold(acting, installation, { tenant: TENANT, hold, decision }),
    what: { hold, target, kind, items: recordIds.length },
  };
}

async function matched(verb: 'applyMatches' | 'undoMatches'): Promise<Given> {
  const { installation, identity } = await world();
  const ids = { tenant: TENANT, target: 'contacts' };
  return {
    act: (acting) =>
      OPERATIONS[verb].run({ ...ids, pairs: toMatchFile([], identity) }, contextWith({ installation, acting })),
    what: { target: 'contacts' },
    facts: { approved: 0, done: 0, already: 0, refused: 0 },
  };
}

async function optedOut(lift: boolean): Promise<Given> {
  const { installation, tenant } = await world();
  const given = { kind: 'phone', address: ADDRESS } as const;
  const { optOut } = OPERATIONS;
  if (lift) await optOut.run({ ...given, tenant: tenant.id, lift: false }, contextWith({ installation }));
  return {
    act: (acting) => optOut.run({ ...given, tenant: TENANT, lift }, contextWith({ installation, acting })),
    what: { kind: 'phone' },
    facts: { changed: true },
  };
}

const OF_LOGINS: GivenByVerb<'login' | 'login-link' | 'withdraw-link' | 'logout' | 'accept-account'> = {
  async login() {
    const { desk, browse } = await logins();
    return {
      act: (acting) => acts.loginWithBrowser(acting, desk, { tenant: TENANT, connection: CONNECTION }, browse, NEVER),
      what: { connection: CONNECTION, way: 'browser' },
      facts: { account: 'unknown', unconfirmed: false, missingScopes: 0 },
    };
  },
  async 'login-link'() {
    const { desk } = await logins();
    return {
      act: (acting) => OPERATIONS.makeLoginLink.run({ ...LOGIN, hours: 48 }, withLogins(desk, acting)),
      what: { connection: CONNECTION, hours: 48 },
      facts: { link: expect.stringMatching(/^[0-9a-f]{12}$/) },
    };
  },
  async 'withdraw-link'() {
    const { desk } = await logins();
    const { link } = await OPERATIONS.makeLoginLink.run({ ...LOGIN, hours: null }, withLogins(desk, openActing()));
    return {
      act: (acting) => OPERATIONS.withdrawLoginLink.run({ tenant: TENANT, link }, withLogins(desk, acting)),
      what: { connection: CONNECTION, link },
    };
  },
  async logout() {
    const { desk, worker } = await logins();
    await connect(worker);
    return {
      act: (acting) => OPERATIONS.logOut.run(LOGIN, withLogins(desk, acting)),
      what: { connection: CONNECTION },
      facts: { revocation: 'revoked' },
    };
  },
  async 'accept-account'() {
    const { desk, worker } = await logins();
    await connect(worker);
    return {
      act: (acting) => OPERATIONS.acceptAccount.run({ ...LOGIN, account: 'unknown' }, withLogins(desk, acting)),
      what: { connection: CONNECTION },
      facts: { account: 'unknown' },
    };
  },
};

const OF_TARGETS: GivenByVerb<
  'approve' | 'reject' | 'undo' | 'release' | 'match' | 'unmatch' | 'sync' | 'apply' | 'audit' | 'clinic-write'
> = {
  approve: () => decided('approved'),
  reject: () => decided('rejected'),
  async undo() {
    const { installation, changedRun } = await world();
    const run = await changedRun();
    return {
      act: (acting) => OPERATIONS.undoRun.run({ run, dryRun: false }, contextWith({ installation, acting })),
      what: { run },
      facts: { records: 1, restored: 1 },
    };
  },
  async release() {
    const opened = await world();
    const run = await opened.pinnedRun();
    return {
      act: (acting) => OPERATIONS.releaseRun.run({ run }, contextWith({ installation: opened.installation, acting })),
      what: { run },
      facts: { released: 1 },
    };
  },
  match: () => matched('applyMatches'),
  unmatch: () => matched('undoMatches'),
  async sync() {
    const { installation } = await world();
    return {
      act: (acting) => OPERATIONS.syncTenant.run({ tenant: TENANT }, contextWith({ installation, acting })),
      facts: { targets: 2, error: null },
    };
  },
  async apply() {
    const { installation } = await world();
    const { id } = await storePlan(installation, TENANT, QUIET, NEVER);
    return {
      act: (acting) => OPERATIONS.applyPlan.run({ tenant: TENANT, plan: id }, contextWith({ installation, acting })),
      what: { plan: id },
      facts: { targets: 2, error: null },
    };
  },
  async audit() {
    const { installation } = await world();
    return {
      act: (acting) => OPERATIONS.auditTenant.run({ tenant: TENANT }, contextWith({ installation, acting })),
      facts: { targets: 2 },
    };
  },
  async 'clinic-write'() {
    const access = await openActsClinic();
    const question = {
      resource: 'appointments',
      verb: 'delete',
      ids: ['apt-1'],
      values: {},
      parameters: [],
      pdf: null,
    };
    return {
      act: (acting) => acts.writeClinic(acting, access, question, NEVER),
      what: { operation: 'appointments.remove', ids: keyed('apt-1'), records: 1 },
    };
  },
};

const BACKUPS = async () => ({
  backup: async () => 'sealed',
  restore: async () => ({ restored: ['clinic'], unchanged: [], protections: 3, pins: 2, rejections: 0, at: 0 }),
  seal: (text: string) => text,
  open: (text: string) => text,
});

const OF_ACCESS: GivenByVerb<
  'sign-in-link' | 'access-token' | 'revoke-access-token' | 'release-account' | 'end-sessions'
> = {
  async 'sign-in-link'() {
    const { desk } = openAccessWorld(redis.connect());
    return {
      act: (acting) => OPERATIONS.makeSignInLink.run({}, withAccess(desk, acting)),
      what: { first: false },
      tenant: null,
    };
  },
  async 'access-token'() {
    const { desk } = openAccessWorld(redis.connect());
    const wish = { name: 'monitor', level: 'viewer' as const, tenants: [TENANT], days: 1 };
    return {
      act: (acting) => OPERATIONS.createAccessToken.run(wish, withAccess(desk, acting)),
      what: { token: 'monitor', level: 'viewer', tenants: TENANT, days: 1 },
      tenant: null,
    };
  },
  async 'revoke-access-token'() {
    const { desk, token } = openAccessWorld(redis.connect());
    await token('viewer');
    return {
      act: (acting) => OPERATIONS.revokeAccessToken.run({ name: 'viewer' }, withAccess(desk, acting)),
      what: { token: 'viewer' },
      tenant: null,
    };
  },
  async 'end-sessions'() {
    const { desk } = openAccessWorld(redis.connect(), { access: accessSettings({ passphrase: true }) });
    await desk.sessions.endAll('owner');
    for (let opened = 0; opened < 2; opened += 1) {
      await desk.sessions.begin('owner', { way: 'passphrase' }, { mostMs: 86_400_000, idleMs: 3_600_000 });
    }
    return {
      act: (acting) => OPERATIONS.endSessions.run({ id: 'owner' }, withAccess(desk, acting)),
      what: { user: 'owner', sessions: 2 },
      tenant: null,
    };
  },
  async 'release-account'() {
    const oidc = { issuer: 'https://id.test', clientId: 'mirror', groups: [{ value: 'all', level: 'viewer' }] };
    const { desk } = openAccessWorld(redis.connect(), { access: accessSettings({ oidc }) });
    await desk.accounts.claim(oidc.issuer, 'olga@clinic.example', 'subject-of-olga');
    const address = 'Olga@clinic.example';
    return {
      act: (acting) => OPERATIONS.releaseAccount.run({ address }, withAccess(desk, acting)),
      what: {},
      tenant: null,
    };
  },
};

const WANTED = { tenant: TENANT, yaml: 'name: Studio\n', secrets: {} };
const REVISION = expect.stringMatching(/^[\w-]{22}$/);

/** Opens configurations with an existing managed tenant. */
async function managed() {
  const desk = openConfigurations(redis.connect());
  const revision = (await desk.store.read()).tenants.get(TENANT)?.revision ?? null;
  if (revision !== null) await desk.store.remove(TENANT, revision);
  const added = await OPERATIONS.addTenant.run(WANTED, withConfigurations(desk, openActing()));
  return { desk, revision: String(added.revision) };
}

const COUNTER = expect.any(Number);

const OF_TENANTS: GivenByVerb<'add-tenant' | 'replace-tenant' | 'remove-tenant' | 'adopt-tenant' | 'accept-tenant'> = {
  async 'add-tenant'() {
    const { desk, revision } = await managed();
    await desk.store.remove(TENANT, revision);
    return {
      act: (acting) => OPERATIONS.addTenant.run(WANTED, withConfigurations(desk, acting)),
      what: { revision: null, secrets: 0 },
      facts: { now: REVISION, counter: COUNTER },
    };
  },
  async 'replace-tenant'() {
    const { desk, revision } = await managed();
    return {
      act: (acting) =>
        OPERATIONS.replaceConfiguration.run({ ...WANTED, ifMatch: revision }, withConfigurations(desk, acting)),
      what: { revision, secrets: 0 },
      facts: { now: REVISION, counter: COUNTER },
    };
  },
  async 'remove-tenant'() {
    const { desk, revision } = await managed();
    return {
      act: (acting) =>
        OPERATIONS.removeTenant.run({ tenant: TENANT, ifMatch: revision }, withConfigurations(desk, acting)),
      what: { revision, secrets: 0 },
      facts: { now: null, counter: COUNTER },
    };
  },
  async 'accept-tenant'() {
    const { desk } = await managed();
    await redis.connect().hdel(managedTenantKeys.managedRevisions(), TENANT);
    await redis.connect().hset(managedTenantKeys.managedRevisions(), '*', 'other');
    const shown = (await desk.store.find(TENANT))?.revision ?? '';
    return {
      act: (acting) => OPERATIONS.acceptTenants.run({ tenant: TENANT, all: false }, withConfigurations(desk, acting)),
      what: { revision: shown, secrets: 0 },
      facts: { now: null, counter: COUNTER },
    };
  },
  async 'adopt-tenant'() {
    const { desk, revision } = await managed();
    await desk.store.remove(TENANT, revision);
    const folder = mkdtempSync(join(tmpdir(), 'mirror-adopted-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, `${TENANT}.yaml`);
    writeFileSync(file, WANTED.yaml);
    return {
      act: (acting) =>
        OPERATIONS.adoptTenant.run(
          { tenant: TENANT },
          withConfigurations({ ...desk, files: { ...desk.files, fileOf: () => file } }, acting),
        ),
      what: { revision: null, secrets: 0 },
      facts: { now: REVISION, counter: COUNTER },
    };
  },
};

const OF_STATE: GivenByVerb<
  Exclude<ActVerb, keyof typeof OF_LOGINS | keyof typeof OF_TARGETS | keyof typeof OF_ACCESS | keyof typeof OF_TENANTS>
> = {
  async 'export-patient'() {
    const { installation } = await world();
    return {
      act: (acting) =>
        OPERATIONS.exportPatient.run({ tenant: TENANT, patient: PATIENT }, contextWith({ installation, acting })),
      what: { patient: keyed(PATIENT) },
      facts: { targets: 2, messages: expect.any(Number) },
    };
  },
  async forget() {
    const { installation } = await world();
    return {
      act: (acting) =>
        OPERATIONS.forgetPatient.run({ tenant: TENANT, patient: PATIENT }, contextWith({ installation, acting })),
      what: { patient: keyed(PATIENT) },
      facts: { receipt: expect.any(String), erased: 31, waiting: 0 },
    };
  },
  async 'follow-again'() {
    const { installation } = await world();
    return {
      act: (acting) =>
        OPERATIONS.followAgain.run({ tenant: TENANT, patient: PATIENT }, contextWith({ installation, acting })),
      what: { patient: keyed(PATIENT) },
      facts: { changed: false },
    };
  },
  async retry() {
    const { installation, tenant } = await world();
    await tenant.outages.wait('dav.example', { tenant: TENANT, target: 'doctor' }, { code: 'timeout' });
    return {
      act: (acting) => OPERATIONS.retryServer.run({ server: 'dav.example' }, contextWith({ installation, acting })),
      what: { host: 'dav.example' },
      facts: { tenants: 1, targets: 1 },
      tenant: null,
    };
  },
  async backup() {
    const { installation } = await world();
    return {
      act: (acting) =>
        OPERATIONS.backUp.run({ tenant: TENANT }, contextWith({ installation, acting, backups: BACKUPS })),
    };
  },
  async restore() {
    const { installation } = await world();
    return {
      act: (acting) =>
        OPERATIONS.restore.run(
          { tenant: TENANT, backup: 'sealed' },
          contextWith({ installation, acting, backups: BACKUPS }),
        ),
      what: { backup: expect.stringMatching(/^[\w-]{43}$/) },
      facts: { logins: 1, unchanged: 0, protections: 3, pins: 2 },
    };
  },
  async 'accept-loss'() {
    const { installation } = await world();
    return {
      act: (acting) => OPERATIONS.acceptLoss.run({ tenant: TENANT }, contextWith({ installation, acting })),
      facts: { changed: false },
    };
  },
  'opt-out': () => optedOut(false),
  'lift-opt-out': () => optedOut(true),
  async 'end-reply'() {
    const { installation } = await world();
    return {
      act: (acting) =>
        OPERATIONS.endReply.run({ tenant: TENANT, reply: 'none' }, contextWith({ installation, acting })),
      facts: { changed: false },
    };
  },
  async 'reopen-channel'() {
    const { installation, closeChannel } = await world();
    await closeChannel();
    return {
      act: (acting) =>
        OPERATIONS.reopenReminderChannel.run(
          { tenant: TENANT, channel: 'text' },
          contextWith({ installation, acting }),
        ),
      what: { channel: 'text' },
      facts: { changed: true },
    };
  },
  async 'rotate-feed'() {
    const { installation, feed } = await world();
    return {
      act: (acting) =>
        OPERATIONS.rotateFeed.run(
          { tenant: TENANT, target: feed },
          contextWith({ installation, acting, publicUrl: 'https://mirror.example' }),
        ),
      what: { target: feed },
      facts: { hadOne: false },
    };
  },
  async 'withdraw-feed'() {
    const { installation, feed } = await world();
    return {
      act: (acting) =>
        OPERATIONS.withdrawFeed.run({ tenant: TENANT, target: feed }, contextWith({ installation, acting })),
      what: { target: feed },
      facts: { hadOne: false },
    };
  },
  async 'reopen-endpoint'() {
    const installation = openTriggerInstallation(redis.connect());
    return {
      act: (acting) =>
        OPERATIONS.reopenTriggerEndpoint.run(
          { tenant: TENANT, endpoint: 'portal', skip: true },
          contextWith({ installation, acting }),
        ),
      what: { endpoint: 'portal', skip: true },
      facts: { closed: null },
    };
  },
};

const GIVEN: GivenByVerb = { ...OF_LOGINS, ...OF_TARGETS, ...OF_ACCESS, ...OF_TENANTS, ...OF_STATE };

describe('each verb', () => {
  test.each(ACT_VERBS)('records user, tenant, action and reason before it begins, and its result: %s', async (verb) => {
    const { act, what = {}, facts = {}, tenant = TENANT } = await GIVEN[verb]();
    const who = person('bruno', 'Bruno');
    const acting = openActing({ who, why: 'INC-7' });
    await act(acting);
    const whose = { verb, tenant, who, why: 'INC-7', code: null };
    expect(acting.recorded).toEqual([
      { ...whose, outcome: 'begun', act: null, what },
      { ...whose, outcome: 'done', act: 1, what: { ...what, ...facts } },
    ]);
    for (const told of [PATIENT, ADDRESS, 'apt-1']) expect(JSON.stringify(acting.recorded)).not.toContain(told);
  });

  test.each(ACT_VERBS)('is refused without a required reason, and the refusal is recorded: %s', async (verb) => {
    const { act, what = {}, tenant = TENANT } = await GIVEN[verb]();
    const acting = openActing({ reasonFor: [verb] });
    await expect(act(acting)).rejects.toMatchObject({ code: 'reason-missing' });
    const whose = { verb, tenant, who: person('anna'), why: null, act: null };
    expect(acting.recorded).toEqual([{ ...whose, outcome: 'refused', code: 'reason-missing', what }]);
  });
});
