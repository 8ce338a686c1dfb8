import { expect, test } from 'vitest';
import { type Actor, MirrorError } from '../../../src/core/model/errors.ts';
import { found, inEnglish, invalidTenantFinding } from '../../../src/operator/control/findings.ts';

const ABOUT = { tenant: 'rossi', subject: 'target doctor' };
const failing = (code: string, actor: Actor, remedy?: string) => async () => {
  throw new MirrorError('it did not answer', {
    actor,
    code,
    retry: 'later',
    ...(remedy === undefined ? {} : { remedy }),
  });
};

test('a success is reported with text that is made after the answer', async () => {
  let answered = 0;
  const finding = await found(
    ABOUT,
    async () => {
      answered = 3;
    },
    () => `answers, ${answered} rows`,
  );
  expect(finding).toEqual({ ...ABOUT, result: 'ok', what: 'answers, 3 rows', code: null, next: null });
});

test('a failure is reported with its remedy for this tenant; without a remedy it only waits', async () => {
  const remedy = 'run: clinic-mirror login <tenant>';
  expect(inEnglish(await found(ABOUT, failing('login-refused', 'authorization', remedy), 'answers'))).toMatchObject({
    ...{ result: 'problem', what: 'it did not answer', code: 'login-refused', next: 'run: clinic-mirror login rossi' },
  });
  expect(inEnglish(await found(ABOUT, failing('server-error', 'remote'), 'answers'))).toMatchObject({
    next: 'wait, or repeat the request',
  });
  expect(await found(ABOUT, failing('x', 'settings'), 'answers')).toMatchObject({ next: null });
});

test('a possibly wrong URL is reported with its setting, and no other failure is', async () => {
  const about = { ...ABOUT, addressIn: 'targets.doctor.settings in rossi.yaml' };
  const { next } = inEnglish(await found(about, failing('not-found', 'settings', 'look'), 'answers'));
  expect(next).toBe('look; see targets.doctor.settings in rossi.yaml');
  expect(inEnglish(await found(about, failing('server-error', 'remote'), 'answers')).next).not.toContain('rossi.yaml');
});

test('a tenant that does not run is reported with its first fault and the number of further ones', () => {
  const fault = (line: number | null, path: string) => ({
    ...{ file: 'rossi.yaml', line, column: null, path, message: 'is no zone', remedy: 'name one' },
  });
  const finding = invalidTenantFinding('rossi', [fault(3, 'zone'), fault(null, ''), fault(null, '')] as never);
  expect(inEnglish(finding)).toMatchObject({
    what: 'the tenant does not run: rossi.yaml line 3, zone: is no zone, and 2 more',
    next: 'name one; then run: clinic-mirror config check',
  });
  expect(inEnglish(invalidTenantFinding('rossi', [])).what).toBe('the tenant does not run: the tenant file has faults');
});
