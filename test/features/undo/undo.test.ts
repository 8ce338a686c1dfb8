import { describe, expect, test } from 'vitest';
import { DAY_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { pushTarget } from '../../../src/engine/push.ts';
import { listRuns, releaseRun, undoRun } from '../../../src/features/undo/undo.ts';
import { renderRuns, renderUndo } from '../../../src/operator/cli/render-decisions.ts';
import { explain } from '../../../src/operator/control/explain.ts';
import { status } from '../../../src/operator/control/status.ts';
import type { TargetConfiguration } from '../../../src/settings/configuration.ts';
import { journalLine } from '../../../src/state/journal.ts';
import { keys } from '../../../src/state/keys.ts';
import { createProofSealer } from '../../../src/state/sealing.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';
import { openInstallation } from '../../operator/control/open-installation.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle, NEVER, pull, targetOf } from '../../tenant/cycle.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { createModelTarget } from '../../tenant/model-target.ts';
import { openTenant } from '../../tenant/open-tenant.ts';

const redis = useRedis();
/** As model tenants have it. */
const IDENTITY_KEY = Buffer.alloc(32, 7);
const SILENT = () => {};
const SIGNALS = { stop: NEVER, abort: NEVER };

/** Six appointments in a calendar; the daemon may be started again under another configuration. */
async function open() {
  const clinic = createModelClinic();
  for (let index = 0; index < 6; index += 1) {
    clinic.appointments.set(`${index}`, appointmentOf(`${index}`, { inHours: 24 + index, agendaId: 'a1' }));
  }
  const model = createModelTarget();
  const connection = redis.connect();
  const clock = { now: NOW };
  const start = (
    configuration: Partial<TargetConfiguration> = {},
    id = 'studio-rossi',
    renamed: { id?: string; formerly?: string } = {},
  ) => {
    const targets = [{ model, configuration, ...(renamed.id === undefined ? {} : { id: renamed.id }) }];
    const { formerly } = renamed;
    const tenant = openTenant({ redis: connection, id, formerly, clinic, targets, clock: () => clock.now });
    return { tenant, installation: openInstallation({ tenants: [tenant] }) };
  };
  const pass = async ({ tenant }: { tenant: ReturnType<typeof openTenant> }) => {
    clock.now += MINUTE_MS;
    return (await cycle(tenant)).id;
  };
  const shown = () => model.objects().length;
  return { clinic, model, clock, start, pass, shown, connection };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** A mistake to undo: a configuration that leaves every appointment out, with a guard that stops nothing. */
const MISTAKE: Partial<TargetConfiguration> = {
  agendas: ['a2'],
  guard: { vanished: { share: 1, count: 100 }, cancelled: { share: 1, count: 100 }, holdExpiresAfterHours: 1 },
};

async function emptiedByMistake(opened: Opened) {
  await opened.pass(opened.start());
  const wrong = opened.start(MISTAKE);
  const run = await opened.pass(wrong);
  expect(opened.shown()).toBe(0);
  return { ...wrong, run };
}

describe('a run that deleted what it should not have', () => {
  test('is listed with what it changed and deleted', async () => {
    const opened = await open();
    const { installation, run } = await emptiedByMistake(opened);
    expect(await listRuns(installation)).toEqual([
      { tenant: 'studio-rossi', run, at: opened.clock.now, updated: 0, deleted: 6 },
    ]);
  });

  test('is restored from the current state of the clinic', async () => {
    const opened = await open();
    const { installation, run } = await emptiedByMistake(opened);
    opened.clinic.appointments.set('0', appointmentOf('0', { inHours: 40, agendaId: 'a1' }));
    const view = await undoRun(installation, run, { dryRun: false }, { progress: SILENT, signals: SIGNALS });
    expect(view.records.map(({ result }) => result)).toEqual(Array(6).fill('restored'));
    expect(opened.shown()).toBe(6);
    const starts = opened.model
      .objects()
      .map(({ item }) => (item.time.kind === 'timed' ? Date.parse(item.time.start) : 0));
    expect(starts).toContain(opened.clinic.appointments.get('0')?.time.startAt);
  });

  test('stays restored while the rules still leave it out, and continues to follow the clinic', async () => {
    const opened = await open();
    const wrong = await emptiedByMistake(opened);
    await undoRun(wrong.installation, wrong.run, { dryRun: false }, { progress: SILENT, signals: SIGNALS });
    opened.clinic.appointments.set('1', appointmentOf('1', { inHours: 50, agendaId: 'a1' }));
    opened.clinic.appointments.set('2', appointmentOf('2', { inHours: 26, agendaId: 'a1', status: 'cancelled' }));
    opened.clinic.appointments.delete('3');
    await opened.pass(wrong);
    await opened.pass(wrong);
    expect(opened.shown()).toBe(4);
    const explained = await explain(wrong.installation, 'studio-rossi', '1', NEVER);
    expect(explained.targets[0]?.decision).toMatchObject({ shown: true, because: expect.stringContaining('undo') });
    const lookups = opened.clinic.counts.lookups;
    await opened.pass(wrong);
    expect(opened.clinic.counts.lookups - lookups, 'one that is gone is not asked for any more').toBeLessThanOrEqual(6);
  });

  test('follows the rules again when an operator releases it, or after 30 days', async () => {
    const opened = await open();
    const wrong = await emptiedByMistake(opened);
    await undoRun(wrong.installation, wrong.run, { dryRun: false }, { progress: SILENT, signals: SIGNALS });
    expect(await releaseRun(wrong.installation, wrong.run, {})).toEqual({ tenant: 'studio-rossi', released: 6 });
    await opened.pass(wrong);
    expect(opened.shown()).toBe(0);

    const again = await undoRun(
      wrong.installation,
      wrong.run,
      { dryRun: false },
      { progress: SILENT, signals: SIGNALS },
    );
    expect(opened.shown()).toBe(6);
    expect(again.pinnedUntil).toBe(opened.clock.now + 30 * DAY_MS);
    const pinned = await wrong.tenant.journal.pinned('doctor', opened.clock.now + 30 * DAY_MS + 1);
    expect(pinned.size).toBe(0);
  });

  test('looks first, when asked to, and writes nothing', async () => {
    const opened = await open();
    const { installation, run, tenant } = await emptiedByMistake(opened);
    const view = await undoRun(installation, run, { dryRun: true }, { progress: SILENT, signals: SIGNALS });
    expect(view).toMatchObject({ dryRun: true, pinnedUntil: null });
    expect(view.records.map(({ result }) => result)).toEqual(Array(6).fill('waiting'));
    await opened.pass({ tenant });
    expect(opened.shown()).toBe(0);
    expect(renderUndo(view)).toContain('nothing was written');
  });

  test('gives for each record the reason why it can not be restored', async () => {
    const opened = await open();
    const { installation, run } = await emptiedByMistake(opened);
    opened.clinic.appointments.delete('0');
    opened.clinic.appointments.set('1', appointmentOf('1', { inHours: 25, agendaId: 'a1', status: 'cancelled' }));
    opened.clinic.unusable.add('2');
    opened.clinic.appointments.set('3', appointmentOf('3', { inHours: 24 * 400, agendaId: 'a1' }));
    const view = await undoRun(installation, run, { dryRun: false }, { progress: SILENT, signals: SIGNALS });
    const results = Object.fromEntries(view.records.map(({ record, result }) => [record, result]));
    expect(results).toEqual({
      0: 'gone',
      1: 'cancelled',
      2: 'unusable',
      3: 'outside-window',
      4: 'restored',
      5: 'restored',
    });
    const text = renderUndo(view);
    expect(text).toContain('not restored: cancelled in the clinic');
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
  });

  test('waits, when the target is away, and comes with a later cycle', async () => {
    const opened = await open();
    const wrong = await emptiedByMistake(opened);
    const stop = new AbortController();
    opened.model.fault = () => {
      stop.abort();
      return 'unavailable';
    };
    const view = await undoRun(
      wrong.installation,
      wrong.run,
      { dryRun: false },
      {
        progress: SILENT,
        signals: {
          ...SIGNALS,
          stop: stop.signal,
        },
      },
    );
    expect(new Set(view.records.map(({ result }) => result))).toEqual(new Set(['waiting']));
    opened.model.fault = () => null;
    opened.clock.now += DAY_MS;
    await opened.pass(wrong);
    expect(opened.shown()).toBe(6);
  });
});

describe('a run that is undone', () => {
  test('while its lane is still deleting loses nothing, and stays restored', async () => {
    const opened = await open();
    await opened.pass(opened.start());
    const wrong = opened.start(MISTAKE);
    const { id: run } = await pull(wrong.tenant);
    opened.model.fault = ({ recordId }) => (Number(recordId) < 2 ? null : 'unavailable');
    const target = targetOf(wrong.tenant);
    await pushTarget(wrong.tenant, target, SIGNALS);
    expect(opened.shown()).toBe(4);
    opened.model.fault = () => null;

    const view = await undoRun(wrong.installation, run, { dryRun: false }, { progress: SILENT, signals: SIGNALS });
    expect(view.records.map(({ result }) => result)).toEqual(Array(6).fill('restored'));
    await opened.pass(wrong);
    expect(opened.shown()).toBe(6);
  });

  test('before its lane began deletes nothing', async () => {
    const opened = await open();
    await opened.pass(opened.start());
    const wrong = opened.start(MISTAKE);
    const { id: run } = await pull(wrong.tenant);
    await undoRun(wrong.installation, run, { dryRun: false }, { progress: SILENT, signals: SIGNALS });
    expect(opened.shown()).toBe(6);
    expect(await listRuns(wrong.installation)).toEqual([]);
  });

  test('with another, of more records than are read by id, is restored at once, and the target stays fresh', async () => {
    const opened = await open();
    for (let index = 0; index < 300; index += 1) {
      opened.clinic.appointments.set(`many-${index}`, appointmentOf(`many-${index}`, { inHours: 24 + index }));
    }
    await opened.pass(opened.start());
    const wrong = opened.start(MISTAKE);
    const runs = [await opened.pass(wrong), await opened.pass(wrong)];
    expect(opened.shown()).toBe(0);

    for (const run of runs) {
      const view = await undoRun(wrong.installation, run, { dryRun: false }, { progress: SILENT, signals: SIGNALS });
      expect(new Set(view.records.map(({ result }) => result))).toEqual(new Set(['restored']));
    }
    expect(opened.shown()).toBe(306);
    await opened.pass(wrong);
    const { targets } = (await status(wrong.installation)).tenants[0]!;
    expect(targets).toMatchObject([{ sync: 'in-sync', inSyncAsOf: opened.clock.now, links: 306 }]);
  });

  test('sends no request for restored events that are in the past by now', async () => {
    const opened = await open();
    const wrong = await emptiedByMistake(opened);
    await undoRun(wrong.installation, wrong.run, { dryRun: false }, { progress: SILENT, signals: SIGNALS });
    opened.clock.now += 12 * DAY_MS;
    await opened.pass(wrong);
    const { lookups } = opened.clinic.counts;
    await opened.pass(wrong);
    expect(opened.clinic.counts.lookups).toBe(lookups);
    expect(opened.shown()).toBe(6);
  });
});

describe('an event that was restored under a previous name', () => {
  test('stays restored under the new one, and its run can be undone', async () => {
    const opened = await open();
    const { run, installation } = await emptiedByMistake(opened);
    await undoRun(installation, run, { dryRun: false }, { progress: SILENT, signals: SIGNALS });
    const renamed = opened.start({ ...MISTAKE, formerly: 'doctor' }, 'studio-verdi', {
      id: 'dr-rossi',
      formerly: 'studio-rossi',
    });
    await opened.pass(renamed);
    expect(opened.shown()).toBe(6);
    expect(await listRuns(renamed.installation)).toMatchObject([{ tenant: 'studio-verdi', run, deleted: 6 }]);
    const view = await undoRun(renamed.installation, run, { dryRun: true }, { progress: SILENT, signals: SIGNALS });
    expect(view.records[0]).toMatchObject({ target: 'dr-rossi', result: 'waiting' });
    expect(await releaseRun(renamed.installation, run, {})).toMatchObject({ released: 6 });
    await opened.pass(renamed);
    expect(opened.shown()).toBe(0);
  });
});

describe('a run that changed what it should not have', () => {
  test('is brought to what the clinic and the configuration say now', async () => {
    const opened = await open();
    await opened.pass(opened.start());
    const run = await opened.pass(opened.start({ title: 'busy' }));
    expect(opened.model.objects()[0]?.item.title).toBe('Busy');
    const mended = opened.start();
    const view = await undoRun(mended.installation, run, { dryRun: false }, { progress: SILENT, signals: SIGNALS });
    expect(view.records.map(({ effect, result }) => [effect, result])).toEqual(Array(6).fill(['updated', 'restored']));
    expect(opened.model.objects()[0]?.item.title).toBe('Appointment');
    expect(view.pinnedUntil).toBeNull();
  });
});

describe('the journal', () => {
  test('holds no content, is not written for creations, and expires with its retention', async () => {
    const opened = await open();
    const { run } = await emptiedByMistake(opened);
    const journals = await opened.connection.keys('*journal:*');
    expect(journals).toEqual([keys.journal('studio-rossi', run)]);
    const lines = await opened.connection.hgetall(journals[0]!);
    expect(Object.keys(lines).sort()).toEqual(['0', '1', '2', '3', '4', '5'].map((id) => `doctor\t${id}`));
    for (const line of Object.values(lines)) expect(line).toMatch(/^deleted\texcluded\t\d+\ts1\.identity\.[\w-]+$/);
    expect(await opened.connection.pttl(journals[0]!)).toBeGreaterThan(29 * DAY_MS);
  });

  test('has a deletion whose answer was lost, once its result is known', async () => {
    const opened = await open();
    await opened.pass(opened.start());
    opened.model.fault = () => 'lost';
    const wrong = opened.start(MISTAKE);
    const run = await opened.pass(wrong);
    opened.model.fault = () => null;
    await wrong.tenant.outbox.hurry('doctor', opened.clock.now);
    await opened.pass(wrong);
    expect(await wrong.tenant.journal.read(run)).toHaveLength(6);
    expect(await wrong.tenant.links.count(targetOf(wrong.tenant).id)).toBe(0);
  });
});

describe('which run is meant', () => {
  test('a run with lines of another writer is none: nothing is restored that no run removed', async () => {
    const opened = await open();
    const { installation, run, tenant } = await emptiedByMistake(opened);
    const journal = keys.journal('studio-rossi', run);
    const own = (await opened.connection.hget(journal, 'doctor\t0')) ?? '';
    await opened.connection.hset(journal, 'doctor\tmade-up', own);
    await opened.connection.hset(journal, 'doctor\t1', own.replace('deleted', 'updated'));
    expect((await tenant.journal.read(run)).map(({ recordId }) => recordId).sort()).toEqual(['0', '2', '3', '4', '5']);
    await opened.connection.copy(journal, keys.journal('studio-rossi', 'another'));
    const refused = undoRun(installation, 'another', { dryRun: false }, { progress: SILENT, signals: SIGNALS });
    await expect(refused).rejects.toMatchObject({ code: 'no-such-run' });
  });

  test('an unknown one is refused', async () => {
    const opened = await open();
    const { installation } = await emptiedByMistake(opened);
    const refused = undoRun(installation, 'nope', { dryRun: false }, { progress: SILENT, signals: SIGNALS });
    await expect(refused).rejects.toMatchObject({ actor: 'settings', code: 'no-such-run' });
  });

  test('one that two tenants have needs the tenant', async () => {
    const opened = await open();
    const first = await emptiedByMistake(opened);
    const other = opened.start(MISTAKE, 'studio-verdi');
    const proofs = createProofSealer(IDENTITY_KEY, 'studio-verdi');
    for (const entry of await first.tenant.journal.read(first.run)) {
      const line = journalLine(proofs, { ...entry, run: first.run }, entry);
      const field = `${entry.target}\t${entry.recordId}`;
      await opened.connection.hset(keys.journal('studio-verdi', first.run), field, line);
    }
    const installation = openInstallation({ tenants: [first.tenant, other.tenant] });
    const ambiguous = undoRun(installation, first.run, { dryRun: true }, { progress: SILENT, signals: SIGNALS });
    await expect(ambiguous).rejects.toMatchObject({ code: 'run-ambiguous' });
    const view = await undoRun(
      installation,
      first.run,
      { tenant: 'studio-rossi', dryRun: true },
      { progress: SILENT, signals: SIGNALS },
    );
    expect(view.records).toHaveLength(6);
    expect(renderRuns({ runs: await listRuns(installation) })).toContain(`clinic-mirror undo ${first.run} --dry-run`);
    expect(renderRuns({ runs: [] })).toContain('No run');
  });
});
