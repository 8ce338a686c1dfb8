import { expect, test } from 'vitest';
import { wakeOther } from '../../src/tenant/wake-others.ts';

const NOW = 1_700_000_000_000;

function tenant(rests: boolean) {
  const done: unknown[] = [];
  const entries = [
    { id: 'waits', channel: 'sms', lastCode: 'timeout' },
    { id: 'refused', channel: 'sms', lastCode: 'invalid-recipient' },
    { id: 'elsewhere', channel: 'mail', lastCode: 'timeout' },
    { id: 'fresh', channel: 'sms', lastCode: null },
  ];
  const woken = {
    clock: () => NOW,
    reminders: {
      alarms: { set: async (wakes: unknown) => void done.push(wakes) },
      ledger: { open: async () => entries },
    },
    triggers: {
      store: { endRest: async () => rests },
      wake: async (delayMs: number, options: unknown) => void done.push([delayMs, options]),
    },
  };
  return { woken, done };
}

test('a channel wakes only its reminders that wait for the host', async () => {
  const { woken, done } = tenant(true);
  await wakeOther(woken, { kind: 'channel', id: 'sms' }, 500);
  expect(done).toEqual([[{ id: 'waits', wakeAt: NOW + 500 }]]);
});

test('an endpoint wakes its events only if it rested because of the outage', async () => {
  const resting = tenant(true);
  await wakeOther(resting.woken, { kind: 'endpoint', id: 'hook' }, 500);
  expect(resting.done).toEqual([[500, { read: false }]]);
  const other = tenant(false);
  await wakeOther(other.woken, { kind: 'endpoint', id: 'hook' }, 500);
  expect(other.done).toEqual([]);
});

test('a connection, and a tenant without reminders and triggers, wake nothing', async () => {
  const { woken, done } = tenant(true);
  await wakeOther(woken, { kind: 'connection', id: 'google' }, 500);
  const bare = { clock: () => NOW, reminders: null, triggers: null };
  await wakeOther(bare, { kind: 'channel', id: 'sms' }, 500);
  await wakeOther(bare, { kind: 'endpoint', id: 'hook' }, 500);
  expect(done).toEqual([]);
});
