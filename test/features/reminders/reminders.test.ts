import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/core/model/time.ts';
import { addFeatureMetrics } from '../../../src/features/metrics.ts';
import {
  explainReminders,
  finishedReminders,
  optOut,
  previewDay,
  reopenChannel,
  upcomingReminders,
} from '../../../src/features/reminders/reminders.ts';
import { PLAIN_COLUMNS } from '../../../src/operator/cli/output.ts';
import { renderReminderExplanation, renderReminders } from '../../../src/operator/cli/render-reminders.ts';
import { renderStatus } from '../../../src/operator/cli/render-status.ts';
import { createMetrics } from '../../../src/operator/control/metrics.ts';
import { status } from '../../../src/operator/control/status.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { openInstallation } from '../../operator/control/open-installation.ts';
import { useRedis } from '../../support/redis.ts';
import { NEVER } from '../../tenant/cycle.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { openTenant } from '../../tenant/open-tenant.ts';
import { book, createReminderWorld, type ReminderWorld } from './reminder-world.ts';

const redis = useRedis({ appendOnly: false });
const ID = 'studio-rossi';
const installationOf = (world: ReminderWorld) => openInstallation({ tenants: [world.tenant] });
const widest = (text: string) => Math.max(...text.split('\n').map((line) => line.length));

async function worldWith(hours: Record<string, number>): Promise<ReminderWorld> {
  const world = createReminderWorld(redis.connect());
  for (const [id, inHours] of Object.entries(hours)) book(world, id, inHours);
  await world.cycle();
  return world;
}

describe('reminders of a tenant', () => {
  test('that are planned, the next one first', async () => {
    const world = await worldWith({ late: 49, early: 30, 'far-away': 24 * 20 });
    const list = await upcomingReminders(installationOf(world), ID);
    expect(list.reminders.map(({ appointment, state }) => [appointment, state])).toEqual([
      ['early', 'planned'],
      ['late', 'planned'],
    ]);
    expect(renderReminders(list, '')).toContain('2026-06-15 16:00+02:00  early');
  });

  test('of a day far ahead, from the clinic, without planning them', async () => {
    const world = await worldWith({ there: 24 * 20, cancelled: 24 * 20, 'a-day-later': 24 * 21 });
    book(world, 'cancelled', 24 * 20, { status: 'cancelled' });
    const list = await previewDay(installationOf(world), ID, '2026-07-04', NEVER);
    expect(list.reminders.map(({ appointment, dueAt, id }) => [appointment, dueAt, id])).toEqual([
      ['there', NOW + 19 * DAY_MS, null],
    ]);
    expect(await world.entries()).toEqual([]);
    expect(renderReminders(list, '')).toContain('1 reminder due on 2026-07-04.');
  });

  test('of tomorrow, with the known ids', async () => {
    const world = await worldWith({ known: 48, late: 40.5 });
    book(world, 'new', 47);
    const { day, reminders } = await previewDay(installationOf(world), ID, null, NEVER);
    expect([day, ...reminders.map(({ appointment, id }) => `${appointment} ${id === null}`)]).toEqual([
      '2026-06-16',
      'late false',
      'new true',
      'known false',
    ]);
  });

  test('of a day for which the clinic returns an incomplete list are marked as incomplete', async () => {
    const world = await worldWith({ one: 48 });
    world.clinic.truncatedAfter = 0;
    const list = await previewDay(installationOf(world), ID, null, NEVER);
    expect(renderReminders(list, '')).toContain('reminders may be missing');
  });

  test('that are complete, newest first', async () => {
    const world = await worldWith({ one: 30, two: 31 });
    await world.advance(6 * HOUR_MS);
    book(world, 'two', 31, { status: 'cancelled' });
    await world.advance(2 * HOUR_MS);
    const list = await finishedReminders(installationOf(world), ID, 10);
    expect(list.reminders.map(({ appointment, state, reason }) => [appointment, state, reason])).toEqual([
      ['two', 'dropped', 'cancelled'],
      ['one', 'sent', null],
    ]);
    expect((await finishedReminders(installationOf(world), ID, 1)).reminders).toHaveLength(1);
  });

  test.each(['2026-02-30', 'tomorrow', '2026'])('of %s: no day', async (day) => {
    const world = await worldWith({});
    await expect(previewDay(installationOf(world), ID, day, NEVER)).rejects.toMatchObject({ code: 'bad-day' });
  });

  test('that has none: said so', async () => {
    const tenant = openTenant({ redis: redis.connect(), clinic: createModelClinic(), targets: [], clock: () => NOW });
    const installation = openInstallation({ tenants: [tenant] });
    await expect(upcomingReminders(installation, ID)).rejects.toMatchObject({ code: 'no-reminders' });
  });
});

describe('the story of an appointment', () => {
  const story = async (world: ReminderWorld, id = 'one') =>
    renderReminderExplanation(await explainReminders(installationOf(world), ID, id, NEVER));

  test('that was reminded of', async () => {
    const world = await worldWith({ one: 48 });
    await world.advance(DAY_MS);
    const text = await story(world);
    expect(text).toContain('day-before, text: for 2026-06-17 10:00+02:00, due 2026-06-16 10:00+02:00');
    expect(text).toContain('sent 2026-06-16 10:00+02:00, 1 attempt, gateway id ref-1');
  });

  test('that was moved: both times', async () => {
    const world = await worldWith({ one: 48 });
    book(world, 'one', 50);
    await world.cycle();
    const text = await story(world);
    expect(text).toContain('dropped 2026-06-15 10:00+02:00: the appointment was moved (moved)');
    expect(text).toContain('planned');
    expect(text).toContain('rule day-before, text: due 2026-06-16 12:00+02:00');
  });

  test('that is of no patient, and of one that the clinic does not have', async () => {
    const world = await worldWith({});
    book(world, 'one', 48, { patientId: null });
    expect(await story(world)).toContain('none, the appointment has no patient');
    expect(await story(world, 'nobody')).toContain('the appointment does not exist in the clinic');
    expect(await story(world, 'nobody')).toContain('No reminder was planned for this appointment');
  });

  test('while the clinic is away: what the ledger holds', async () => {
    const world = await worldWith({ one: 48 });
    world.clinic.lookupsFail = true;
    const text = await story(world);
    expect(text).toContain('did not respond');
    expect(text).toContain('planned');
  });

  test('fits in a hundred columns, whatever the ids', async () => {
    const world = await worldWith({ ['x'.repeat(150)]: 48 });
    expect(widest(await story(world, 'x'.repeat(150)))).toBeLessThanOrEqual(PLAIN_COLUMNS);
    expect(widest(renderReminders(await upcomingReminders(installationOf(world), ID), ''))).toBeLessThanOrEqual(
      PLAIN_COLUMNS,
    );
  });
});

describe('an opt-out by the operator', () => {
  test('holds from then on, and can be lifted', async () => {
    const world = await worldWith({ one: 30, two: 54 });
    const address = '333-1234567';
    const installation = installationOf(world);
    expect(await optOut(installation, ID, { kind: 'phone', address, lift: false })).toEqual({ changed: true });
    expect(await optOut(installation, ID, { kind: 'phone', address, lift: false })).toEqual({ changed: false });
    await world.advance(10 * HOUR_MS);
    expect(await world.fate('one')).toBe('dropped opted-out');
    expect(await optOut(installation, ID, { kind: 'phone', address, lift: true })).toEqual({ changed: true });
    await world.cycle();
    await world.advance(2 * DAY_MS);
    expect(await world.fate('two')).toBe('sent');
  });

  test.each(['phone', 'email'] as const)('of something that is no %s is refused', async (kind) => {
    const world = await worldWith({});
    await expect(optOut(installationOf(world), ID, { kind, address: 'nobody', lift: false })).rejects.toMatchObject({
      code: 'bad-address',
    });
  });
});

test('a patient with wrong information is in status, on pages and in metrics until that ends', async () => {
  const rules = { 'day-before': { before: 'P1D', channels: ['text'], corrections: { cancelled: false } } };
  const world = createReminderWorld(redis.connect(), { file: { rules } });
  book(world, 'one', 48);
  await world.cycle();
  await world.advance(DAY_MS);
  book(world, 'one', 48, { status: 'cancelled' });
  await world.cycle();
  const installation = installationOf(world);
  const sinceAt = world.now;
  const seen = await status(installation);
  expect(seen.problems).toMatchObject([
    {
      ...{ tenant: ID, subject: 'appointment one', code: 'patient-misinformed', health: 'action-required', sinceAt },
      next: `clinic-mirror reminders explain ${ID} one`,
    },
  ]);
  expect(renderStatus(seen)).toContain('corrections-off');
  const metrics = createMetrics(() => installationOf(world));
  addFeatureMetrics(metrics);
  const figures = async () => {
    const text = await metrics.render();
    return text.split('\n').filter((line) => line.startsWith('clinic_mirror_patients_misinformed'));
  };
  expect(await figures()).toEqual([
    `clinic_mirror_patients_misinformed{tenant="${ID}",health="action-required"} 1`,
    `clinic_mirror_patients_misinformed{tenant="${ID}",health="retrying"} 0`,
  ]);
  book(world, 'one', 48);
  await world.cycle();
  expect((await status(installationOf(world))).problems).toEqual([]);
});

test('a channel whose other side is gone stays closed, for days, and status says how to open it', async () => {
  const world = await worldWith({ one: 48, two: 24 * 20 });
  world.gateway.answers.push({ result: 'refused', code: 'webhook-gone', optedOut: false, channelGone: true });
  await world.advance(DAY_MS);
  const closedAt = world.now;
  await world.advance(17 * DAY_MS);
  await world.cycle();
  await world.advance(2 * DAY_MS);
  expect(await world.fate('two')).toBe('dropped channel-gone');
  expect(world.gateway.calls).toHaveLength(1);
  const seen = await status(installationOf(world));
  expect(seen.tenants[0]?.reminders).toEqual({
    waiting: 0,
    replies: null,
    hold: null,
    closedChannels: [{ channel: 'text', code: 'webhook-gone', at: closedAt }],
    wrong: [],
  });
  expect(renderStatus(seen)).toContain('reminders by text: closed since');
  expect(renderStatus(seen).replaceAll(/\s+/g, ' ')).toContain(`clinic-mirror reminders reopen ${ID} text`);
});

test('a channel that was closed is used again when it is reopened', async () => {
  const world = await worldWith({ one: 48, two: 49 });
  world.gateway.answers.push({ result: 'refused', code: 'gone', optedOut: false, channelGone: true });
  await world.advance(DAY_MS);
  expect(await reopenChannel(installationOf(world), ID, 'text')).toEqual({ changed: true });
  expect(await reopenChannel(installationOf(world), ID, 'text')).toEqual({ changed: false });
  await world.advance(DAY_MS);
  expect(await world.fate('two')).toBe('sent');
});
