import { machineNow } from './shifted-date.ts';

/** Names another date, as an ISO string in UTC: `2028-02-29T09:30Z`. */
const VARIABLE = 'CLINIC_MIRROR_TEST_DATE';
/** A working day, a Wednesday, far from the end of a month and from a change of the clocks. */
const USUAL = '2026-05-13T09:30Z';

/**
 * Returns the `NODE_OPTIONS` of all test processes and their children. These processes use the tests' date instead of the host's. The
 * offset is constant for a run, so that processes agree and time passes.
 * @throws RangeError if the variable contains no date
 */
export function testDateOptions(env: NodeJS.ProcessEnv): string {
  const told = env[VARIABLE] ?? USUAL;
  const beginsAt = Date.parse(told);
  if (Number.isNaN(beginsAt)) throw new RangeError(`${VARIABLE} must be a date such as ${USUAL}, not "${told}"`);
  const preload = new URL(`./test-date-preload.js?${Math.round(beginsAt - machineNow())}`, import.meta.url);
  return `--import=${preload.href}`;
}
