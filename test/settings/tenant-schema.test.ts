import { describe, expect, test } from 'vitest';
import { load, SETTINGS, TENANT, writeConfiguration } from './configuration-directory.ts';

describe('a valid configuration', () => {
  test('is complete: defaults are filled in, and a target without a guard gets the guard of the settings', () => {
    const settings = `${SETTINGS}guard: { vanished: { share: 0.5 }, holdExpiresAfterHours: 24 }\n`;
    const tenant = `${TENANT}    guard: { vanished: { count: 3 } }\n`;
    const { tenants, unusable } = load(
      writeConfiguration({ 'clinic-mirror.yaml': settings, 'tenants/uno.yaml': tenant }),
    );
    expect(unusable).toEqual([]);
    expect(tenants.get('uno')?.targets.get('rossi')).toEqual({
      id: 'rossi',
      connector: 'calendar',
      connection: 'work',
      agendas: 'all',
      treatments: 'all',
      blockedTime: 'show',
      window: { pastDays: 7, futureDays: 180 },
      title: 'appointment',
      fields: [],
      free: ['cancelled', 'no_show'],
      tentative: [],
      visibility: 'private',
      labels: [],
      links: [],
      statuses: ['booked', 'confirmed', 'arrived', 'in_progress', 'completed', 'no_show', 'unknown'],
      firstRun: 'apply',
      guard: {
        vanished: { share: 0.5, count: 3 },
        cancelled: { share: 0.6, count: 50 },
        holdExpiresAfterHours: 24,
      },
      audit: { drift: 'repair', rewritesPerDay: 10, changesEverySeconds: 300 },
      paused: false,
      policy: 'sync',
      settings: { calendar: 'a', color: 'blue' },
    });
  });
});
