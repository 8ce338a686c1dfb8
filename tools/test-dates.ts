// npm run test:dates [-- <test file …>] [--date <date> …]: runs the tests whose data or steps depend on the date, on one date after
// another, and lists the failures of each. `--date 2028-02-29T09:30Z` replaces the usual 14 dates.
import { parseArgs } from 'node:util';
import { failedTests } from './failed-tests.ts';

/** Times are UTC. A date with a change begins minutes before it, so that tests run before it and after it. */
const DATES: Readonly<Record<string, string>> = {
  '2026-05-11T09:30Z': 'Monday',
  '2026-05-12T09:30Z': 'Tuesday',
  '2026-05-13T09:30Z': 'Wednesday, the date of npm test',
  '2026-05-14T09:30Z': 'Thursday',
  '2026-05-15T15:30Z': 'Friday afternoon',
  '2026-05-16T09:30Z': 'Saturday',
  '2026-05-17T09:30Z': 'Sunday',
  '2026-06-30T22:30Z': "a month's end, and the next day in Rome",
  '2026-10-25T00:59Z': 'Rome returns to winter time',
  '2026-12-31T22:59Z': "New Year's Eve: midnight in Rome",
  '2027-01-01T09:30Z': "New Year's Day",
  '2027-03-28T00:59Z': 'Rome changes to summer time',
  '2028-02-29T09:30Z': '29 February',
  '2028-11-26T16:30Z': 'a Sunday two years ahead',
};

/** The part of the suite that depends on the date, with the reason. */
const DEPENDENT: Readonly<Record<string, string>> = {
  'test/sandbox/clinic/': 'data of the clinic sandbox with dates around its start',
  'test/clinic/sandbox.test.ts': 'reads the data of the clinic sandbox in windows around the current time',
  'test/clinic/dialects.test.ts': 'reads the data of the clinic sandbox with the times of every dialect',
  'test/tenant/windows.test.ts': 'windows that move with the day',
  'test/domain/clinic-source.test.ts': 'reads of the next two days',
  'test/engine/parts.test.ts': 'plans over the next two days',
  'test/tenant/clock-jumps.test.ts': 'clocks that are set forward and back',
  'test/features/reminders/job.test.ts': 'reminders due before appointments, inside allowed hours',
  'test/reminders/': 'days, times and hours in messages to patients',
  'test/operator/http-server/pages/': 'weeks and days as pages show them',
  'test/core/model/time.test.ts': 'changes of the clocks',
  'test/operator/control/plan.test.ts': 'plans of the days around the current date',
  'test/attacks/account.test.ts': 'changes appointments that it picks from the data of the sandbox',
  'test/e2e/faults.test.ts': 'counts records of the data of the sandbox',
  'test/e2e/times.test.ts': 'times and days of events at each vendor',
  'test/e2e/reminders.test.ts': 'reminders of future appointments',
};

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { date: { type: 'string', multiple: true } },
  });
  const files = positionals.length === 0 ? Object.keys(DEPENDENT) : positionals;
  const dates = values.date ?? Object.keys(DATES);
  let failures = 0;
  for (const date of dates) {
    const startedAt = performance.now();
    const failed = await failedTests(files, { env: { CLINIC_MIRROR_TEST_DATE: date } });
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
    const label = DATES[date] === undefined ? date : `${date} (${DATES[date]})`;
    console.log(`${label}: ${failed.length} failed, ${seconds} s`);
    for (const { file, name, message } of failed) console.log(`\n${file}: ${name}\n${message}\n`);
    failures += failed.length;
  }
  return failures === 0 ? 0 : 1;
}

process.exitCode = await main();
