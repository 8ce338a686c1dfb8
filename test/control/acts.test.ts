import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { restoreBackup } from '../../src/features/backup/backups.ts';
import { decideHold } from '../../src/features/holds/decide.ts';
import { OPERATIONS } from '../../src/features/operations.ts';
import { createApprovalStore } from '../../src/state/stored-documents.ts';
import { cycle } from '../jobs/cycle.ts';
import { createModelClinic } from '../jobs/model-clinic.ts';
import { createModelTarget } from '../jobs/model-target.ts';
import { openTenant } from '../jobs/open-tenant.ts';
import { contextWith } from '../operations/run-operation.ts';
import { useRedis } from '../support/redis.ts';
import { appointmentOf, NOW } from '../sync/arbitraries.ts';
import { openActing, person } from './acting.ts';
import { openInstallation } from './open-installation.ts';

const redis = useRedis();
const source = join(import.meta.dirname, '../../src');
const read = (path: string) => readFileSync(join(source, path), 'utf8');
const filesIn = (folder: string) =>
  readdirSync(join(source, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`);

/** What skins import from `control/` and `features/` and is no act of a person, by why that is so. */
const NO_ACTS: Readonly<Record<string, readonly string[]>> = {
  'only looks': [
    'readClinic',
    'readClinicRaw',
    'readInvoiceDoctors',
    'readClinicPdf',
    'previewWrite',
    'explain',
    'openOverview',
    'openStatuses',
    'recentRuns',
    'readActivity',
    'listHolds',
    'upcomingReminders',
    'requireTenant',
    'does',
    'createMetrics',
    'examine',
    'storePlan',
    'newestPlan',
    'planSummary',
    'refusedFiles',
    'listRecords',
    'openTasks',
    'readTask',
    'viewWeek',
    'viewHold',
    'secondPersonAbove',
    'heldBackMs',
    'describeLoginLink',
    'listLoginLinks',
    'entrantBySession',
    'entrantByToken',
    'describeSignInLink',
    'isPassphraseMissing',
    'beginOidcSignIn',
    'principalOf',
    'rememberedBrowserOf',
    'rememberBrowser',
    'neededSecrets',
    'planAddition',
    'redisAway',
    'openBackup',
    'reminderChannels',
    'addFeatureMetrics',
    'clearTriggersIn',
    'sealBackup',
    'alertChannels',
  ],
  'records what it does itself': [
    'endOidcSignIn',
    'signInByPassphrase',
    'useSignInLink',
    'signOut',
    'makeSignInLink',
    'changeTenant',
  ],
  'makes a question, or an error': ['operationOf', 'noPublicPort'],
  'is a part of acts': ['resumeTargets'],
  'does a recorded act for each tenant': ['backUpAll', 'restoreAll'],
  'is what a patient or a vendor does': ['createAnswerServices', 'createNotificationReceiver', 'takeReminderCallback'],
  'is run by an operation, which records it': [
    'optOut',
    'reopenChannel',
    'reopenEndpoint',
    'rotateFeed',
    'withdrawFeed',
    'applyPlan',
    'auditNow',
    'retryHost',
    'syncTenant',
    'undoRun',
    'releaseRun',
    'applyMatches',
    'undoMatches',
    'forgetPatient',
    'followAgain',
    'acceptLoss',
    'beginRemoteLogin',
    'withdrawLoginLink',
    'acceptAccount',
    'logOut',
    'createAccessToken',
    'releaseAccount',
    'revokeAccessToken',
  ],
  'records acts': ['recordAct', 'note'],
  'renders a finding': ['inEnglish'],
  'is what a calendar does that fetches': ['showFeed'],
  'tells people': ['createAlertWatch'],
};

const RUN_BY_OPERATIONS = NO_ACTS['is run by an operation, which records it'] ?? [];

const EXPORTED = /^export (?:async )?(?:function\*? |const )(\w+)/gm;
const exportedBy = (text: string) => [...text.matchAll(EXPORTED)].map(([, name = '']) => name);
const ACTS = ['control/acts', 'features/holds/decide'];
const recorded = ACTS.flatMap((module) => exportedBy(read(`${module}.ts`)));

/** Names that an import takes, and from which file of control/ or features/: at the top of a file, or when it is needed. */
function importsOfControl(text: string): { module: string; names: string[] }[] {
  const patterns = [
    /import \{([^}]*)\} from '(?:\.{1,2}\/)+((?:control|features)\/[\w/-]+)\.ts'/g,
    /const \{([^}]*)\} = await import\('(?:\.{1,2}\/)+((?:control|features)\/[\w/-]+)\.ts'\)/g,
  ];
  return patterns.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([, names = '', module = '']) => ({
      module,
      names: names.split(',').map((name) => name.trim().split(/[ :]/)[0] ?? ''),
    })),
  );
}

describe('verbs', () => {
  const above = ['main.ts', 'command-line.ts', ...['cli', 'http-server', 'composition'].flatMap(filesIn)];
  const imports = above.flatMap((path) => importsOfControl(read(path)).map((each) => ({ path, ...each })));

  test('are recorded, or it is said why they need not be', () => {
    const bySkins = imports.filter(({ path }) => !path.startsWith('composition/'));
    const verbs = new Set(bySkins.flatMap(({ names }) => names).filter((name) => /^(?!type$)[a-z]/.test(name)));
    const explained = Object.values(NO_ACTS).flat();
    expect([...verbs].filter((name) => !recorded.includes(name) && !explained.includes(name))).toEqual([]);
    expect(explained.filter((name) => recorded.includes(name))).toEqual([]);
    expect(recorded).toContain('loginWithBrowser');
  });

  test('that are recorded are reached in no other way from above', () => {
    expect(imports.filter(({ module }) => ACTS.includes(module))).not.toEqual([]);
    const around = imports.filter(
      ({ module, names }) =>
        !ACTS.includes(module) && names.some((name) => [...recorded, ...RUN_BY_OPERATIONS].includes(name)),
    );
    expect(around.map(({ path, names }) => `${path}: ${names}`)).toEqual([]);
  });
});

async function openHold() {
  const clinic = createModelClinic();
  for (let index = 0; index < 30; index += 1) {
    clinic.appointments.set(`${index}`, appointmentOf(`${index}`, { inHours: 24 + index }));
  }
  const connection = redis.connect();
  const tenant = openTenant({ redis: connection, clinic, targets: [{ model: createModelTarget() }], clock: () => NOW });
  const installation = openInstallation({ tenants: [tenant] });
  await cycle(tenant);
  clinic.appointments.clear();
  await cycle(tenant);
  const [hold] = await tenant.holds.list();
  const store = createApprovalStore(connection, tenant.id, Buffer.alloc(32, 7), () => NOW);
  const as = (who: string, holdsAbove?: number) => openActing({ who: person(who), store, policy: { holdsAbove } });
  const approve = (acting: ReturnType<typeof as>, decision: 'approved' | 'rejected' = 'approved') =>
    decideHold(acting, installation, { tenant: tenant.id, hold: hold?.id ?? '', decision });
  return { tenant, installation, hold, as, approve };
}

describe('a hold', () => {
  test('of more items than the limit is approved by two persons', async () => {
    const { tenant, as, approve } = await openHold();
    await expect(approve(as('anna', 29))).rejects.toMatchObject({ code: 'second-person-needed', actor: 'guard' });
    await expect(approve(as('anna', 29))).rejects.toMatchObject({ code: 'second-person-same' });
    expect(await tenant.holds.list()).toMatchObject([{ state: 'open' }]);
    const bruno = as('bruno', 29);
    await expect(approve(bruno)).resolves.toMatchObject({ hold: { state: 'approved' } });
    expect(bruno.recorded).toMatchObject([
      { verb: 'approve', outcome: 'begun', what: { target: 'doctor', items: 30, requestedBy: 'anna' } },
      { verb: 'approve', outcome: 'done' },
    ]);
  });

  test('that changed since the first person wants a first person again', async () => {
    const { tenant, hold, as, approve } = await openHold();
    await expect(approve(as('anna', 5))).rejects.toMatchObject({ code: 'second-person-needed' });
    await tenant.holds.erase(hold?.target ?? '', new Set(['3']));
    await expect(approve(as('bruno', 5))).rejects.toMatchObject({ code: 'second-person-needed' });
  });

  test('is approved part by part by one person only up to the limit, all parts together', async () => {
    const { tenant, installation, hold, as } = await openHold();
    const approve = (ids: readonly string[]) =>
      decideHold(
        as('anna', 10),
        installation,
        { tenant: tenant.id, hold: hold?.id ?? '', decision: 'approved' },
        { only: new Set(ids) },
      );
    const ids = hold?.recordIds ?? [];
    await approve(ids.slice(0, 6));
    await expect(approve(ids.slice(6, 12))).rejects.toMatchObject({ code: 'second-person-needed' });
    await approve(ids.slice(6, 10));
    expect((await tenant.holds.list()).find(({ state }) => state === 'open')?.recordIds).toHaveLength(20);
  });

  test('leaves in the log how much of it was decided, and the rest waits however little it is', async () => {
    const { tenant, installation, hold, as } = await openHold();
    const acting = as('anna');
    const only = new Set(hold?.recordIds.slice(0, 28));
    await decideHold(acting, installation, { tenant: tenant.id, hold: hold?.id ?? '', decision: 'approved' }, { only });
    expect(acting.recorded[0]).toMatchObject({ verb: 'approve', what: { hold: hold?.id, items: 28, of: 30 } });
    await cycle(tenant);
    expect((await tenant.links.read('doctor')).size).toBe(2);
    expect((await tenant.holds.list()).filter(({ state }) => state === 'open')).toMatchObject([
      { id: hold?.id, recordIds: hold?.recordIds.slice(28) },
    ]);
  });

  test.each([
    ['of as many items as the limit is approved', 30, 'approved'],
    ['of more items is rejected', 5, 'rejected'],
  ] as const)('%s by one person', async (_, limit, decision) => {
    const { as, approve } = await openHold();
    await expect(approve(as('anna', limit), decision)).resolves.toMatchObject({ hold: { state: decision } });
  });
});

test('a backup is restored by two persons who have the same one', async () => {
  const store = createApprovalStore(redis.connect(), 'studio-rossi', Buffer.alloc(32, 7), () => NOW);
  const { installation } = await openHold();
  const restored: string[] = [];
  const backups = {
    backup: async () => '',
    async restore(_: string, text: string) {
      restored.push(text);
      return { restored: [], unchanged: [], protections: 0, pins: 0, rejections: 0, at: NOW };
    },
  };
  const as = (who: string) => openActing({ who: person(who), store, policy: { restore: true } });
  const give = (who: string, text: string) => restoreBackup(as(who), { installation, backups }, 'studio-rossi', text);
  await expect(give('anna', 'one')).rejects.toMatchObject({ code: 'second-person-needed' });
  await expect(give('bruno', 'another')).rejects.toMatchObject({ code: 'second-person-needed' });
  expect(restored).toEqual([]);
  await give('bruno', 'one');
  expect(restored).toEqual(['one']);
});

test('what only looks, or names what is not there, leaves no entry', async () => {
  const { installation } = await openHold();
  const acting = openActing();
  const undo = (run: string, dryRun: boolean) =>
    OPERATIONS.undoRun.run({ run, dryRun }, contextWith({ installation, acting }));
  await expect(undo('Mario Rossi', false)).rejects.toMatchObject({ code: 'no-such-run' });
  expect(acting.recorded).toEqual([]);
});
