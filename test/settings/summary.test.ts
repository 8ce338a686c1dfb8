import { expect, expectTypeOf, test } from 'vitest';
import type { AppointmentStatus } from '../../src/core/model/records.ts';
import { didYouMean } from '../../src/core/model/text.ts';
import type { TargetConfiguration } from '../../src/settings/configuration.ts';
import { renderConfigurationSummary } from '../../src/settings/summary.ts';
import { ENV, load, TENANT, writeConfiguration } from './configuration-directory.ts';

test('the summary shows configured and disabled tenants, and no secret', () => {
  const dir = writeConfiguration({ 'tenants/due.yaml': TENANT.replace('zone: Europe/Rome', 'zone: Rome') });
  const summary = renderConfigurationSummary(load(dir, { mode: 'set-aside' }));
  expect(summary).toContain(
    [
      '1 tenant, 1 target, 1 tenant set aside',
      'clinic client main: https://api.clinic.test\n  profile plain, 60 requests a minute, 10 at once',
      'Google client main: 6000 requests a minute, 100 at once',
      [
        'tenant uno: Studio Uno',
        '  it, Europe/Rome; clinic client main, clinic 7',
        '  target rossi: calendar by work',
        '    all agendas, 7 days back and 180 ahead',
        '    title appointment, no other fields; first run: apply',
      ].join('\n'),
      'due: set aside, 1 error in the configuration',
    ].join('\n\n'),
  );
  expect(summary).not.toContain(ENV.CLIENT_SECRET);
});

test('the statuses that a target may show are those of the model', () => {
  expectTypeOf<TargetConfiguration['statuses'][number]>().toEqualTypeOf<AppointmentStatus>();
});

test.each([
  ['past_days', ['pastDays', 'futureDays'], 'pastDays'],
  ['calender', ['caldav', 'calendar'], 'calendar'],
  ['Gogle', ['google', 'caldav'], 'google'],
  ['xyz', ['google', 'caldav'], null],
  ['ab', ['xy'], null],
  ['anything', [], null],
])('of %j among %j one may have meant %j', (written, known, expected) => {
  expect(didYouMean(written, known)).toBe(expected);
});

test('a very long word has no suggestion, and uses no CPU time of the daemon', () => {
  const endless = `Europe/${'ro'.repeat(500_000)}`;
  const before = process.threadCpuUsage().user;
  expect(didYouMean(endless, Intl.supportedValuesOf('timeZone'))).toBeNull();
  // Compared letter by letter it took half a minute.
  expect(process.threadCpuUsage().user - before).toBeLessThan(5_000_000);
});
