import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../../src/features/operations.ts';
import { useRedis } from '../../support/redis.ts';
import { contextWith } from '../operations/run-operation.ts';
import { openActing } from './acting.ts';
import { openBooked } from './open-installation.ts';

const redis = useRedis();
const source = join(import.meta.dirname, '../../../src');
const read = (path: string) => readFileSync(join(source, path), 'utf8');
const filesIn = (folder: string) =>
  readdirSync(join(source, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`);

/** Imports of the interfaces (CLI, API, pages) from `operator/control/` and `features/` that are no action of a user, by reason. */
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
    'createAnswerDirectory',
    'storageText',
    'effectOfPolicy',
    'does',
    'createMetrics',
    'examine',
    'storePlan',
    'newestPlan',
    'planSummary',
    'refusedFiles',
    'listRecords',
    'stateOfRecord',
    'historyDays',
    'byConfiguration',
    'partOf',
    'readInstallation',
    'isLoss',
    'openTasks',
    'readTask',
    'viewWeek',
    'findAppointments',
    'targetNamesOf',
    'viewHold',
    'secondPersonAbove',
    'heldBackMs',
    'describeLoginLink',
    'listLoginLinks',
    'entrantBySession',
    'entrantByToken',
    'mustSignInAgain',
    'requireRecentSignIn',
    'listSessions',
    'describeSignInLink',
    'isPassphraseMissing',
    'beginOidcSignIn',
    'principalOf',
    'rememberedBrowserOf',
    'rememberBrowser',
    'neededSecrets',
    'planAddition',
    'ofRedis',
    'problemsOfHost',
    'openBackup',
    'reminderChannels',
    'createFeedDirectory',
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
    'endOtherSessions',
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
    'exportPatient',
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
const ACTS = ['operator/control/acts', 'features/holds/decide'];
const recorded = ACTS.flatMap((module) => exportedBy(read(`${module}.ts`)));

/** Names that an import takes, and from which file of operator/control/ or features/: at the top of a file, or when it is needed. */
function importsOfControl(text: string): { module: string; names: string[] }[] {
  const patterns = [
    /import \{([^}]*)\} from '(?:\.{1,2}\/)+((?:(?:operator\/)?control|features)\/[\w/-]+)\.ts'/g,
    /const \{([^}]*)\} = await import\('(?:\.{1,2}\/)+((?:(?:operator\/)?control|features)\/[\w/-]+)\.ts'\)/g,
  ];
  return patterns.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([, names = '', module = '']) => ({
      module: module.replace(/^control\//, 'operator/control/'),
      names: names.split(',').map((name) => name.trim().split(/[ :]/)[0] ?? ''),
    })),
  );
}

describe('verbs', () => {
  const above = ['main.ts', 'command-line.ts', ...['operator/cli', 'operator/http-server', 'daemon'].flatMap(filesIn)];
  const imports = above.flatMap((path) => importsOfControl(read(path)).map((each) => ({ path, ...each })));

  test('are recorded, or give a reason for the exception', () => {
    const bySkins = imports.filter(({ path }) => !path.startsWith('daemon/'));
    const verbs = new Set(bySkins.flatMap(({ names }) => names).filter((name) => /^(?!type$)[a-z]/.test(name)));
    const explained = Object.values(NO_ACTS).flat();
    expect([...verbs].filter((name) => !recorded.includes(name) && !explained.includes(name))).toEqual([]);
    expect(explained.filter((name) => recorded.includes(name))).toEqual([]);
    expect(recorded).toContain('loginWithBrowser');
  });

  test('that are recorded can be called in no other way from upper layers', () => {
    expect(imports.filter(({ module }) => ACTS.includes(module))).not.toEqual([]);
    const around = imports.filter(
      ({ module, names }) =>
        !ACTS.includes(module) && names.some((name) => [...recorded, ...RUN_BY_OPERATIONS].includes(name)),
    );
    expect(around.map(({ path, names }) => `${path}: ${names}`)).toEqual([]);
  });
});

test('that only read, or name an unknown object, leave no record', async () => {
  const { installation } = openBooked(redis);
  const acting = openActing();
  const undo = (run: string, dryRun: boolean) =>
    OPERATIONS.undoRun.run({ run, dryRun }, contextWith({ installation, acting }));
  await expect(undo('Mario Rossi', false)).rejects.toMatchObject({ code: 'no-such-run' });
  expect(acting.recorded).toEqual([]);
});
