import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../../src/core/log/logger.ts';
import { ACT_VERBS, type AuditEntry } from '../../../src/core/model/acts.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { PLAIN_COLUMNS } from '../../../src/operator/cli/output.ts';
import type { CliOutside, Wanted } from '../../../src/operator/cli/outside.ts';
import { createProgram } from '../../../src/operator/cli/program.ts';
import { renderAuditLog, renderChainCheck } from '../../../src/operator/cli/render-audit-log.ts';
import { createAuditLog } from '../../../src/operator/control/audit-log.ts';
import { recordAct } from '../../../src/operator/control/recording.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { openActing } from '../control/acting.ts';
import { runProgram } from './run-program.ts';

const redis = useRedis();

/** A log in which two acts of two days stand: one that was done, one that failed. */
async function openLog() {
  const directory = await mkdtemp(join(tmpdir(), 'clinic-mirror-audit-log-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const clock = { now: NOW };
  const log = createAuditLog({
    ...{ redis: redis.connect(), directory, identityKey: Buffer.alloc(32, 7), retentionMonths: () => 12 },
    ...{ clock: () => clock.now, log: silentLogger },
  });
  const acting = openActing({ log, why: 'INC-7' });
  const patient = acting.actServices.keyed('aurora', 'pat0000007');
  await recordAct(acting, { verb: 'forget', tenant: 'aurora', what: { patient } }, async () => {});
  clock.now += DAY_MS;
  const refused = new MirrorError('no', { actor: 'settings', code: 'tenant-paused', retry: 'never' });
  await recordAct(acting, { verb: 'sync', tenant: 'belvedere' }, () => Promise.reject(refused)).catch(() => {});
  return { directory, acting };
}

const run = (acting: Awaited<ReturnType<typeof openLog>>['acting'], ...args: string[]) =>
  runProgram(['--utc', 'audit-log', ...args], { acting });

describe('audit-log show', () => {
  test('shows action, operator and result in a row, and the reason on the next line', async () => {
    const { acting } = await openLog();
    const { out } = await run(acting, 'show');
    const rows = out.split('\n').map((line) => line.trim().split(/ {2,}/));
    expect(rows).toContainEqual(['2', '2026-06-15 08:00:00Z', 'anna', 'forget', 'aurora', 'done']);
    expect(rows).toContainEqual(['4', '2026-06-16 08:00:00Z', 'anna', 'sync', 'belvedere', 'failed (tenant-paused)']);
    expect(out.match(/why: INC-7/g)).toHaveLength(2);
  });

  test.each([
    [
      ['--tenant', 'aurora'],
      ['forget', 'forget'],
    ],
    [
      ['--verb', 'sync'],
      ['sync', 'sync'],
    ],
    [
      ['--since', new Date(NOW + DAY_MS).toISOString()],
      ['sync', 'sync'],
    ],
    [
      ['--tenant', 'aurora', '--record', 'pat0000007'],
      ['forget', 'forget'],
    ],
    [['--tenant', 'aurora', '--record', 'pat0000008'], []],
    [['--limit', '1'], ['sync']],
  ])('with %j shows %j', async (choice, verbs) => {
    const { acting } = await openLog();
    const { entries } = JSON.parse((await run(acting, 'show', '--json', ...choice)).out) as { entries: AuditEntry[] };
    expect(entries.map(({ verb }) => verb)).toEqual(verbs);
  });

  test('stays within the width of a terminal with any action and operator', () => {
    const names = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,40}$/);
    const said = fc.option(fc.string({ maxLength: 200 }));
    const entries = fc.record<AuditEntry>({
      chain: fc.constantFrom('0001-aaaaaa', '0002-bbbbbb'),
      sequence: fc.integer({ min: 1, max: 99_999_999 }),
      at: fc.constant(new Date(NOW).toISOString()),
      previous: fc.constant(null),
      verb: fc.constantFrom(...ACT_VERBS),
      tenant: fc.option(names),
      who: fc.record({ kind: fc.constant('os-user'), name: names, id: names, claimed: said }),
      what: fc.dictionary(names, fc.oneof(names, fc.nat(), fc.boolean(), fc.constant(null))),
      why: said,
      outcome: fc.constantFrom('begun', 'done', 'failed', 'refused', 'requested'),
      code: fc.option(names),
      act: fc.option(fc.integer({ min: 1, max: 9 })),
    });
    fc.assert(
      fc.property(fc.array(entries, { maxLength: 8 }), fc.nat(3), (list, changed) => {
        const widest = Math.max(
          ...renderAuditLog(list, changed)
            .split('\n')
            .map((line) => line.length),
        );
        expect(widest).toBeLessThanOrEqual(PLAIN_COLUMNS);
      }),
    );
  });
});

describe('audit-log export', () => {
  test('prints each record of the log on one line', async () => {
    const { acting } = await openLog();
    const lines = (await run(acting, 'export')).out.trim().split('\n');
    const told = lines.map((line) => JSON.parse(line) as AuditEntry & { mac: string });
    expect(told.map(({ sequence, verb }) => [sequence, verb])).toEqual([
      [1, 'begin-log'],
      [2, 'forget'],
      [3, 'forget'],
      [4, 'sync'],
      [5, 'sync'],
    ]);
    expect(told.slice(1).map(({ previous }) => previous)).toEqual(told.slice(0, -1).map(({ mac }) => mac));
    expect(lines.join('')).not.toContain('pat0000007');
  });
});

describe('audit-log verify', () => {
  test('exits with 0 for an unchanged log, and with 1 and the record number for a changed one', async () => {
    const { acting, directory } = await openLog();
    expect(await run(acting, 'verify')).toMatchObject({ code: 0, out: expect.stringContaining('5 records, 1 to 5') });
    const [{ chain } = { chain: '' }] = (await acting.actServices.log?.verify(new Set()))?.chains ?? [];
    await writeFile(join(directory, 'audit-log', chain, '00000', '00000003.json'), '{}\n');
    const { out, code } = await run(acting, 'verify');
    expect([code, out]).toEqual([1, expect.stringMatching(/FAULT +\S+, record 3: was changed/)]);
    expect((await run(acting, 'show')).out).toContain('Changed records: 1');
  });

  test('stays within the width of a terminal', () => {
    const chain = '0001-abcdef';
    const head = { sequence: 99_999_999, mac: 'm'.repeat(43), at: NOW };
    const chains = [{ chain, first: 1, last: 99_999_999, entries: 99_999_999, mac: 'm'.repeat(43), head }];
    const kinds = ['changed', 'misplaced', 'unlinked', 'missing', 'cut-off', 'replaced', 'absent'] as const;
    const faults = kinds.map((fault) => ({ chain, from: 99_999_998, to: 99_999_999, fault }));
    const lines = renderChainCheck({ chains, faults }).split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(PLAIN_COLUMNS);
  });

  test('without a log says how to enable one', async () => {
    const { thrown } = await run(openActing({ log: null }), 'verify');
    expect(thrown).toMatchObject({ code: 'no-audit-log' });
  });
});

test('the options --as and --reason are valid before and after the command', async () => {
  const given: Wanted[] = [];
  const outside = {
    env: {},
    async withInstallation(options: Wanted) {
      given.push(options);
    },
  } as Partial<CliOutside> as CliOutside;
  await createProgram(outside).parseAsync(['--as', 'Anna', 'sync', 'aurora', '--reason', 'INC-7'], { from: 'user' });
  expect(given).toMatchObject([{ as: 'Anna', reason: 'INC-7' }]);
});
